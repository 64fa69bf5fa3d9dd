// fuzz_chat.c - messages through every built-in rendering, and any text as a chat template. What a message holds may move nothing outside of
// it: with other letters in the same places the prompt differs in the messages alone. So nobody forges a turn.
#include "fuzz.h"

enum { MOST_MESSAGES = 6 };

typedef struct talk { llm_message m[MOST_MESSAGES]; char *role[MOST_MESSAGES], *content[MOST_MESSAGES]; size_t n; } talk;

static void choose_talk(talk *t, choices *c) {
    static const char *const roles[] = { "user", "assistant", "system", "user", "tool" };
    size_t i, n;
    t->n = choose_below(c, MOST_MESSAGES + 1);
    for (i = 0; i < t->n; i++) {
        const uint32_t which = choose_byte(c);
        t->role[i] = choose_text(c, which < 16 ? 8 : 0, NULL);
        t->content[i] = choose_text(c, 60, &n);
        t->m[i].role = which < 16 ? t->role[i] : which < 200 ? roles[i % 2] : roles[which % 5];       // user and assistant in turn, mostly
        t->m[i].content = which == 255 ? NULL : t->content[i];
    }
}
static void free_talk(talk *t) {
    size_t i;
    for (i = 0; i < t->n; i++) { free(t->role[i]); free(t->content[i]); }
}
static llm_result render(const llm__chat *chat, const talk *t, unsigned flags, const llm__heap *h, llm__prompt *p, llm_error *e) {
    memset(p, 0, sizeof *p);
    return llm__chat_render_with(chat, llm__str_of("<s>"), llm__str_of("</s>"), t->m, t->n, flags, h, p, e);
}
static void must_be_spans(const llm__prompt *p) {
    size_t i, at = 0;
    for (i = 0; i < p->n_plain; i++) {
        MUST(p->plain[i].begin >= at && p->plain[i].begin < p->plain[i].end && p->plain[i].end <= p->text.n);
        at = p->plain[i].end;
    }
}
// Every letter and mark of the messages becomes 'y'; blanks, which are trimmed, and what is not ASCII, which may be, stay.
static void must_not_forge(const llm__chat *chat, talk *t, unsigned flags, const llm__heap *h, const llm__prompt *p) {
    llm__prompt other;
    llm_error e;
    size_t i, k;
    char *s;
    for (i = 0; i < t->n; i++)
        for (s = t->content[i]; *s; s++) if (*s > ' ' && *s < 127) *s = 'y';
    MUST(render(chat, t, flags, h, &other, &e) == LLM_OK);
    MUST(other.text.n == p->text.n && other.n_plain == p->n_plain);
    for (i = 0; i < p->n_plain; i++) MUST(p->plain[i].begin == other.plain[i].begin && p->plain[i].end == other.plain[i].end);
    for (i = k = 0; i < p->text.n; i++) {
        while (k < p->n_plain && p->plain[k].end <= i) k++;
        MUST((k < p->n_plain && p->plain[k].begin <= i) || p->text.p[i] == other.text.p[i]);
    }
    llm__prompt_free(&other, h);
}
static void must_render(llm__chat *chat, talk *t, unsigned flags, uint32_t fail_at) {
    fuzz_heap counted;
    llm__heap h;
    llm__prompt p;
    llm_error e;
    llm_result r;
    memset(&h, 0, sizeof h);
    h.a = fuzz_allocator(&counted);
    r = render(chat, t, flags, &h, &p, &e);
    must_be_error(&e, r < 0);
    MUST(r == LLM_OK || (!p.text.p && !p.plain && counted.n_live == 0));
    if (r == LLM_OK) {
        must_be_spans(&p);
        if (!(chat->form->flags & LLM__FORM_THINK)) must_not_forge(chat, t, flags, &h, &p);
    }
    llm__prompt_free(&p, &h);
    MUST(counted.n_live == 0);
    counted.fail_at = counted.calls + fail_at;
    counted.fail_for = 1;
    if (render(chat, t, flags, &h, &p, &e) == LLM_OK) llm__prompt_free(&p, &h);
    else MUST(e.code == (counted.calls >= counted.fail_at ? LLM_NO_MEMORY : r));
    MUST(counted.n_live == 0);
}
// A text as a template: refused, or one of the renderings, with a default prompt that lies in it.
static void must_recognise(const char *text, size_t n, talk *t, unsigned flags) {
    llm__chat chat;
    llm_error e;
    llm_result r;
    memset(&chat, 0, sizeof chat);
    r = llm__chat_recognise(&chat, llm__str_n(text, n), &e);
    must_be_error(&e, r < 0);
    MUST((r == LLM_OK) == (chat.form != NULL));
    if (r != LLM_OK) return;
    MUST(!chat.has_system || (chat.system.p >= text && chat.system.p + chat.system.n <= text + n));
    must_render(&chat, t, flags, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    choices c;
    talk t;
    llm__chat chat;
    char *text;
    uint32_t way, flags, fail_at, system;
    size_t n;
    c.p = data;
    c.n = size;
    way = choose_byte(&c);
    flags = choose_byte(&c);
    fail_at = 1 + choose_below(&c, 20);
    system = choose_below(&c, 64);
    choose_talk(&t, &c);
    n = c.n;
    text = (char *)malloc(n + 1);
    if (!text) abort();
    memcpy(text, c.p, n);
    text[n] = 0;
    if (way < 128) {
        memset(&chat, 0, sizeof chat);
        chat.form = &llm__forms[way % LLM__FORM_COUNT];
        chat.has_system = flags & 2;
        chat.system = llm__str_n(text, system < n ? system : n);
        must_render(&chat, &t, flags & 1, fail_at);
    } else must_recognise(text, n, &t, flags & 1);
    free(text);
    free_talk(&t);
    return 0;
}
