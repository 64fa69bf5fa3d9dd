// json.h - reads JSON that strangers wrote: strict as RFC 8259, a byte order mark apart, bounded in everything, no recursion. What is
// wrong gets one sentence with its line.

//------------------------------------------------------------------------------------------------------------------------------
// >>json   Values stand in one array, each after what contains it; strings are decoded where they stand in the file's bytes.

enum { JSON_BYTES = 4 << 20, JSON_VALUES = 1 << 16, JSON_MEMBERS = 512, JSON_DEPTH = 16, JSON_DIGITS = 64 };

typedef enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef uint32_t json_at;        // which value: the root is 0
#define JSON_NONE ((json_at)-1)

typedef struct json_value {
    json_kind kind;
    const char *key;             // in an object; else NULL
    const char *text;            // a string, decoded, with a NUL behind; a number as it was written, without
    uint32_t n_text, n;          // bytes of text; values in an array or object
    double number;
    json_at parent, first, last, next;
} json_value;

typedef struct json {
    text bytes;
    json_value *values;
    uint32_t n, cap;
    char error[160];
} json;

typedef struct json_reader {
    json *j;
    char *p, *end;               // *end is a NUL, and no other byte is
    uint32_t line, depth;
    json_at parent;
} json_reader;

static void json_free(json *j) {
    text_free(&j->bytes);
    free(j->values);
    j->values = NULL;
}

// Returns 0, as those who fail do.
static int json_fail(json_reader *r, const char *what) {
    snprintf(r->j->error, sizeof r->j->error, "line %lu: %s", (unsigned long)r->line, r->p == r->end ? "the file ends too early" : what);
    return 0;
}

static void json_space(json_reader *r) {
    for (; *r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'; r->p++) r->line += *r->p == '\n';
}

// Four hexadecimal digits; -1 if they are not.
static long json_hex(json_reader *r) {
    long v = 0;
    int i;
    for (i = 0; i < 4; i++, r->p++) {
        const char c = *r->p;
        if (!isxdigit((unsigned char)c)) return -1;
        v = v * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}
static char *json_put_utf8(char *out, long c) {
    if (c < 0x80) *out++ = (char)c;
    else if (c < 0x800) { *out++ = (char)(0xc0 | c >> 6); *out++ = (char)(0x80 | (c & 63)); }
    else {
        if (c < 0x10000) *out++ = (char)(0xe0 | c >> 12);
        else { *out++ = (char)(0xf0 | c >> 18); *out++ = (char)(0x80 | (c >> 12 & 63)); }
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}
// The character that the halves of a pair make; -1 if they are none.
static long json_pair(long high, long low) {
    if (high < 0xd800 || high >= 0xdc00 || low < 0xdc00 || low >= 0xe000) return -1;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}
// After the backslash. What it stands for is never longer than it is.
static char *json_escape(json_reader *r, char *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = *r->p ? strchr(from, *r->p) : NULL;
    long c;
    if (known) { r->p++; *out++ = to[known - from]; return out; }
    if (*r->p != 'u') { json_fail(r, "an escape that JSON does not have"); return NULL; }
    r->p++;
    c = json_hex(r);
    if (c >= 0xd800 && c < 0xdc00 && r->p[0] == '\\' && r->p[1] == 'u') {
        r->p += 2;
        c = json_pair(c, json_hex(r));
    }
    if (c <= 0 || (c >= 0xd800 && c < 0xe000)) { json_fail(r, "\\u that is no character"); return NULL; }
    return json_put_utf8(out, c);
}
// From the quote on. NULL on failure.
static char *json_string_text(json_reader *r, uint32_t *n) {
    char *start = ++r->p, *out = start;
    while (*r->p != '"') {
        size_t len = utf8_length(r->p, (size_t)(r->end - r->p));
        if (r->p == r->end || len == 0) { json_fail(r, "a string that is not UTF-8"); return NULL; }
        if ((unsigned char)*r->p < 32) { json_fail(r, "a control character in a string"); return NULL; }
        if (*r->p == '\\') {
            r->p++;
            out = json_escape(r, out);
            if (!out) return NULL;
        } else {
            memmove(out, r->p, len);
            out += len;
            r->p += len;
        }
    }
    *n = (uint32_t)(out - start);
    *out = 0;                                              // the closing quote or before it
    r->p++;
    return start;
}

static int json_digits(json_reader *r) {
    const char *start = r->p;
    while (*r->p >= '0' && *r->p <= '9') r->p++;
    return r->p > start;
}
// JSON's grammar is narrower than strtod's, which then only converts.
static int json_number(json_reader *r, json_value *v) {
    v->text = r->p;
    if (*r->p == '-') r->p++;
    if (*r->p == '0') r->p++;
    else if (!json_digits(r)) return json_fail(r, "a value is missing, or is none that JSON has");
    if (*r->p == '.') { r->p++; if (!json_digits(r)) return json_fail(r, "a number without digits behind its point"); }
    if (*r->p == 'e' || *r->p == 'E') {
        r->p++;
        if (*r->p == '+' || *r->p == '-') r->p++;
        if (!json_digits(r)) return json_fail(r, "a number without digits in its exponent");
    }
    v->n_text = (uint32_t)(r->p - v->text);
    v->kind = JSON_NUMBER;
    if (v->n_text > JSON_DIGITS) return json_fail(r, "a number of more than 64 digits");
    v->number = strtod(v->text, NULL);
    return v->number - v->number == 0 || json_fail(r, "a number that is too large");
}
static int json_word(json_reader *r, json_value *v) {
    static const char *const words[] = { "null", "false", "true" };
    int k;
    for (k = 0; k < 3; k++) {
        if (strncmp(r->p, words[k], strlen(words[k])) != 0) continue;
        v->kind = (json_kind)k;
        r->p += strlen(words[k]);
        return 1;
    }
    return json_number(r, v);
}

static json_at json_member(const json *j, json_at object, const char *key) {
    json_at i;
    if (object == JSON_NONE || j->values[object].kind != JSON_OBJECT) return JSON_NONE;
    for (i = j->values[object].first; i != JSON_NONE; i = j->values[i].next)
        if (strcmp(j->values[i].key, key) == 0) return i;
    return JSON_NONE;
}

// The key of the value that is due, if it is to have one.
static int json_key(json_reader *r, json_value *v) {
    json *j = r->j;
    uint32_t n;
    v->key = NULL;
    if (r->parent == JSON_NONE || j->values[r->parent].kind != JSON_OBJECT) return 1;
    if (j->values[r->parent].n == JSON_MEMBERS) return json_fail(r, "an object of more than 512 members");
    if (*r->p != '"') return json_fail(r, "a key in quotes is missing");
    v->key = json_string_text(r, &n);
    if (!v->key) return 0;
    if (json_member(j, r->parent, v->key) != JSON_NONE) return json_fail(r, "the same key twice in one object");
    json_space(r);
    if (*r->p != ':') return json_fail(r, "':' is missing after a key");
    r->p++;
    json_space(r);
    return 1;
}
static int json_append(json_reader *r, const json_value *v) {
    json *j = r->j;
    json_value *parent;
    if (j->n == JSON_VALUES) return json_fail(r, "more than 65536 values");
    if (j->n == j->cap) {
        const uint32_t cap = j->cap ? j->cap * 2 : 256;
        json_value *more = (json_value *)realloc(j->values, cap * sizeof *more);
        if (!more) { complain("out of memory"); exit(EXIT_FAILED); }
        j->values = more;
        j->cap = cap;
    }
    j->values[j->n] = *v;
    if (v->parent != JSON_NONE) {
        parent = &j->values[v->parent];
        if (parent->n++) j->values[parent->last].next = j->n;
        else parent->first = j->n;
        parent->last = j->n;
    }
    j->n++;
    return 1;
}

// One value with its key; of an array or object only its beginning, in which the reader then is.
static int json_value_begin(json_reader *r) {
    json_value v;
    memset(&v, 0, sizeof v);
    v.parent = r->parent;
    v.first = v.last = v.next = JSON_NONE;
    json_space(r);
    if (!json_key(r, &v)) return 0;
    if (*r->p == '{' || *r->p == '[') {
        if (++r->depth > JSON_DEPTH) return json_fail(r, "arrays and objects are nested more than 16 deep");
        v.kind = *r->p++ == '{' ? JSON_OBJECT : JSON_ARRAY;
        if (!json_append(r, &v)) return 0;
        r->parent = r->j->n - 1;
        return 1;
    }
    if (*r->p == '"') {
        v.kind = JSON_STRING;
        v.text = json_string_text(r, &v.n_text);
        return v.text && json_append(r, &v);
    }
    return json_word(r, &v) && json_append(r, &v);
}
// Ends what ends here. *more: another value is due.
static int json_value_end(json_reader *r, int opened, int *more) {
    for (;; opened = 0) {
        int object;
        json_space(r);
        *more = 0;
        if (r->parent == JSON_NONE) return r->p == r->end || json_fail(r, "there is more behind the end");
        object = r->j->values[r->parent].kind == JSON_OBJECT;
        if (*r->p == (object ? '}' : ']')) {
            r->p++;
            r->depth--;
            r->parent = r->j->values[r->parent].parent;
            continue;
        }
        *more = 1;
        if (opened) return 1;
        if (*r->p != ',') return json_fail(r, object ? "',' or '}' is missing" : "',' or ']' is missing");
        r->p++;
        return 1;
    }
}

// The bytes are j's. Returns 0 with the sentence in j->error.
static int json_parse(json *j) {
    json_reader r;
    int more = 1;
    r.j = j;
    r.p = j->bytes.p;
    r.end = r.p + j->bytes.n;
    r.line = 1;
    r.depth = 0;
    r.parent = JSON_NONE;
    if (memchr(r.p, 0, j->bytes.n)) { snprintf(j->error, sizeof j->error, "it has bytes that are zero: it is no text"); return 0; }
    while (more) {
        const uint32_t depth = r.depth;
        if (!json_value_begin(&r) || !json_value_end(&r, r.depth > depth, &more)) return 0;
    }
    return 1;
}

// PowerShell's > writes UTF-16, and some editors a mark before UTF-8: what was JSON before still is.
static void json_as_utf8(text *t) {
    const unsigned char *p = (const unsigned char *)t->p;
    const int utf8 = t->n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0, utf16 = t->n >= 2 && p[0] == 0xff && p[1] == 0xfe;
    text out = { NULL, 0, 0 };
    size_t i;
    if (!utf8 && !utf16) return;
    text_clear(&out);
    if (utf8) text_add(&out, t->p + 3, t->n - 3);
    for (i = 2; utf16 && i + 1 < t->n; i += 2) {
        const long unit = p[i] | p[i + 1] << 8, pair = json_pair(unit, i + 3 < t->n ? p[i + 2] | p[i + 3] << 8 : 0);
        char bytes[4];
        text_add(&out, bytes, (size_t)(json_put_utf8(bytes, pair < 0 ? unit : pair) - bytes));      // half a pair: no UTF-8, and refused
        if (pair >= 0) i += 2;
    }
    text_free(t);
    *t = out;
}
// Returns 0 after a complaint.
static int json_load(const char *path, json *j) {
    char chunk[4096];
    size_t n = 1;
    FILE *f = fopen(path, "rb");
    memset(j, 0, sizeof *j);
    if (!f) { complain("cannot open '%s': %s", path, strerror(errno)); return 0; }
    text_clear(&j->bytes);
    while (n && j->bytes.n <= JSON_BYTES) {
        n = fread(chunk, 1, sizeof chunk, f);
        text_add(&j->bytes, chunk, n);
    }
    n = (size_t)(ferror(f) ? errno : 0);
    fclose(f);
    if (n) { complain("cannot read '%s': %s", path, strerror((int)n)); return 0; }
    if (j->bytes.n > JSON_BYTES) { complain("'%s' is larger than 4 MB: no report is", path); return 0; }
    json_as_utf8(&j->bytes);
    if (!json_parse(j)) { complain("'%s' is not JSON: %s", path, j->error); return 0; }
    return 1;
}

// ---- what reads a tree ----

// "facts.run.n_ctx", from `from` on; JSON_NONE if it is not there.
static json_at json_path(const json *j, json_at from, const char *path) {
    char key[64];
    while (*path && from != JSON_NONE) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key) return JSON_NONE;
        memcpy(key, path, n);
        key[n] = 0;
        from = json_member(j, from, key);
        path += n + (path[n] == '.');
    }
    return from;
}
static double json_number_of(const json *j, json_at i) {
    return i != JSON_NONE && j->values[i].kind == JSON_NUMBER ? j->values[i].number : 0;
}
static const char *json_text_of(const json *j, json_at i) {
    return i != JSON_NONE && j->values[i].kind == JSON_STRING ? j->values[i].text : "";
}
