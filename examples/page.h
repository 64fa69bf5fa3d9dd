// page.h - the doctor's result as one HTML page: no script, no reference to anything outside, charts as inline SVG, for a phone and for a
// desk, for light and for dark. A part of doctor.h.

static const char page_style[] =
    ":root{color-scheme:light dark;--page:#f4f3ef;--card:#fff;--ink:#1b1b19;--soft:#66655f;--line:#e3e1da;--grid:#eceae3;--was:#b9b6ab;"
    "--good:#1c7c54;--one:#2f6fd6;--two:#e0932f;--three:#7a5bd0;--tint:#eaf1fc;--roof:#f6e3e0;--edge:#c4503f;--on:#fff}"
    "@media(prefers-color-scheme:dark){:root{--page:#141413;--card:#1f1f1d;--ink:#f1f0ea;--soft:#a3a198;--line:#34332f;--grid:#2b2a27;"
    "--was:#6a685f;--good:#4fbf8b;--one:#6ea3f5;--two:#eeb05f;--three:#a48df0;--tint:#1f2a3c;--roof:#34211e;--edge:#e5806f;--on:#141413}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "main{max-width:1120px;margin:0 auto;padding:28px 16px 40px}"
    "h1{font-size:15px;font-weight:600;margin:0;overflow-wrap:anywhere}h2{font-size:16px;line-height:1.3;margin:0 0 2px;font-weight:650}"
    "p{margin:0}.soft{color:var(--soft);font-size:14px}"
    ".hero{margin:20px 0 22px}.big{font-size:clamp(38px,11vw,68px);font-weight:700;letter-spacing:-.03em;line-height:1.05;"
    "font-variant-numeric:tabular-nums}.big .was{color:var(--soft);font-weight:500}.big .unit{font-size:.32em;font-weight:500;"
    "letter-spacing:0;color:var(--soft);margin-left:.35em}.big .arrow{color:var(--soft);font-weight:400;margin:0 .18em}"
    ".first{margin-top:16px;padding:14px 16px;border-radius:12px;background:var(--tint);overflow-wrap:anywhere;max-width:720px}"
    ".first b{display:block;font-size:13px;color:var(--one);font-weight:650}"
    ".cards{columns:2 420px;column-gap:16px}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:18px 18px 14px;margin-bottom:16px;"
    "break-inside:avoid}"
    ".card>svg{display:block;width:100%;height:auto;max-width:560px;margin:12px auto 0}"
    "svg text{font-family:inherit;font-size:12px;fill:var(--ink)}svg .s{fill:var(--soft);font-size:11px}svg .b{font-weight:650}"
    "svg .r{text-anchor:end}svg .m{text-anchor:middle}svg .on{fill:var(--on);font-size:11px}svg .g{stroke:var(--grid);stroke-width:1}"
    "svg .a{stroke:var(--soft);stroke-width:1}svg .n{font-variant-numeric:tabular-nums}svg .chip{fill:var(--card);font-size:10px;"
    "font-weight:700}svg .h{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}"
    "@media(max-width:560px){.card{padding:16px 14px 12px}svg text{font-size:14px}svg .s,svg .on{font-size:13px}svg .chip{font-size:11px}}"
    "details{margin-top:0}summary{cursor:pointer;color:var(--soft);font-size:14px;padding:6px 0}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:13px;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:6px 14px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "th{font-weight:600;color:var(--soft);white-space:nowrap}td.num,th.num{text-align:right;white-space:nowrap}"
    "ul{margin:8px 0 4px;padding-left:18px;font-size:14px}li{margin:4px 0;overflow-wrap:anywhere}"
    "code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.93em}"
    "footer{margin-top:20px;color:var(--soft);font-size:13px}";

// Names of files may be any bytes, and sentences are cut at any: what is no UTF-8 comes out as U+FFFD.
static void html_text(FILE *f, const char *s) {
    size_t n = strlen(s), len;
    for (; n; s += len, n -= len) {
        len = utf8_length(s, n);
        if (!len) { fputs("\xef\xbf\xbd", f); len = 1; }
        else if (*s == '&') fputs("&amp;", f);
        else if (*s == '<') fputs("&lt;", f);
        else if (*s == '>') fputs("&gt;", f);
        else if (*s == '"') fputs("&quot;", f);
        else if ((unsigned char)*s >= 32) fwrite(s, 1, len, f);
    }
}
static void html_args(FILE *f, const char *format, va_list args) {
    char line[700];
    vsnprintf(line, sizeof line, format, args);
    html_text(f, line);
}
static void html_format(FILE *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    html_args(f, format, args);
    va_end(args);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>scale   From values to places. Drawings are 400 wide.

enum { PAGE_W = 400 };

// log2 to 2^-30, which is finer than a pixel; -lm is not linked.
static double log_of(double x) {
    double y = 0, bit = 0.5;
    if (!(x > 0)) return -60;
    for (; x >= 2; x /= 2) y++;
    for (; x < 1; x *= 2) y--;
    for (; bit > 1e-9; bit /= 2) {
        x *= x;
        if (x >= 2) { x /= 2; y += bit; }
    }
    return y;
}
typedef struct scale { double low, high, from, to; int is_log; } scale;

static double scale_at(const scale *s, double v) {
    double part = s->is_log ? (log_of(v) - log_of(s->low)) / (log_of(s->high) - log_of(s->low)) : (v - s->low) / (s->high - s->low);
    return s->from + (part < 0 ? 0 : part > 1 ? 1 : part) * (s->to - s->from);
}
static double power_below(double x) {
    double unit = 1;
    while (unit > x && x > 0) unit /= 10;
    while (unit * 10 <= x) unit *= 10;
    return unit;
}
// The largest of 1, 2, 5, 10, ... that is not above x.
static double round_down(double x) {
    const double unit = power_below(x);
    return unit * 5 <= x ? unit * 5 : unit * 2 <= x ? unit * 2 : unit;
}
// Ticks are 1, 2, 5, 10 on a logarithmic axis, or 1, 10, 100 where that would be crowded.
static int crowded(const scale *s) { return s->high > 400 * s->low; }
static double tick_after(const scale *s, double t) {
    if (!s->is_log) return t + round_down((s->high - s->low) / 4);
    return crowded(s) ? t * 10 : round_down(t * 2.51);
}
static double tick_first(const scale *s) {
    double t = crowded(s) ? power_below(s->low) : round_down(s->low);
    if (!s->is_log) return 0;
    while (t < s->low) t = tick_after(s, t);
    return t;
}
static scale scale_of(double low, double high, double from, double to, int is_log) {
    scale s;
    s.is_log = is_log;
    s.low = is_log ? low / 1.25 : 0;
    s.high = high * (is_log ? 1.25 : 1.08);
    s.from = from;
    s.to = to;
    return s;
}

static void svg_open(FILE *f, double height, const char *label) {
    fprintf(f, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", PAGE_W, height);
    html_text(f, label);
    fputs("\">", f);
}
static void svg_text(FILE *f, double x, double y, const char *classes, const char *format, ...) {
    char line[300];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, classes);
    html_text(f, line);
    fputs("</text>", f);
}
static void svg_line(FILE *f, double x1, double y1, double x2, double y2, const char *class_name) {
    fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>", x1, y1, x2, y2, class_name);
}
static void svg_bar(FILE *f, double x1, double x2, double y, double h, const char *colour) {
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" fill=\"var(--%s)\"/>", x1, y,
            x2 - x1 < 2 ? 2 : x2 - x1, h, colour);
}
// A numbered point, the number of its row in the path.
static void svg_chip(FILE *f, double x, double y, uint32_t number, const char *colour) {
    fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"8\" fill=\"var(--%s)\" stroke=\"var(--card)\" stroke-width=\"2\"/>", x, y, colour);
    svg_text(f, x, y + 3.5, "chip m", "%u", (unsigned)number);
}
static void card_open(FILE *f, const char *title, const char *format, ...) {
    char line[500];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(f, "<section class=\"card\"><h2>%s</h2><p class=\"soft\">", title);
    html_text(f, line);
    fputs("</p>", f);
}
static void card_close(FILE *f) { fputs("</svg></section>\n", f); }

// As gain_text, with the sign that a page has and a terminal may not.
static const char *times_text(double gain, char *out, size_t cap) {
    char plain[16];
    gain_text(gain, plain, sizeof plain);
    if (*plain == 'x') snprintf(out, cap, "\xc3\x97%s", plain + 1);
    else snprintf(out, cap, "%s", plain);
    return out;
}
static void html_sentence(FILE *f, const char *s) {
    if (!*s) return;
    if (*s >= 'a' && *s <= 'z') fputc(*s++ - 'a' + 'A', f);        // it may begin with the name of a file, and that with anything
    html_format(f, "%s. ", s);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>charts

static const char *row_colour(const doctor *d, uint32_t row) { return row == 0 ? "was" : row + 1 == path_rows(d) ? "good" : "one"; }

// Each bar begins where the one before ended.
static void page_waterfall(FILE *f, const doctor *d) {
    const uint32_t n = path_rows(d);
    double low = 0, high = 0, at, before = 0;
    char rate[32], gain[32];
    scale s;
    uint32_t i;
    for (i = 0; i < n; i++) {
        double v = path_row(d, i)->tok_s;
        if (v > high) high = v;
        if (v > 0 && (low == 0 || v < low)) low = v;
    }
    s = scale_of(low, high, 4, PAGE_W - 4, high > 4 * low);
    if (s.is_log) s.low = low / 2;
    card_open(f, "One repair after the other", "Tokens per second%s. Each repair was chosen because it gained most when it was tried.",
              s.is_log ? ", on a logarithmic axis" : "");
    svg_open(f, 50.0 * n + 22, "tokens per second after each repair");
    for (at = tick_first(&s); at < s.high; at = tick_after(&s, at)) {
        svg_line(f, scale_at(&s, at), 0, scale_at(&s, at), 50.0 * n + 4, "g");
        if (scale_at(&s, at) < PAGE_W - 12) svg_text(f, scale_at(&s, at), 50.0 * n + 18, "s m n", "%g", at);
    }
    for (i = 0; i < n; i++) {
        const trial *t = path_row(d, i);
        const double y = 50.0 * i, x = scale_at(&s, t->tok_s);
        svg_chip(f, 10, y + 12, i + 1, row_colour(d, i));
        svg_text(f, 24, y + 16, i ? "h" : "s h", "%.44s", i ? lever_names[path_repair(d, i)->what] : "as it is");
        svg_text(f, PAGE_W - 4, y + 16, "r b n h", "%s%s%s", i ? times_text(path_repair(d, i)->gain, gain, sizeof gain) : "",
                 i ? " \xe2\x86\x92 " : "", t->tok_s > 0 ? rate_text(t->tok_s, rate, sizeof rate) : "does not run");
        svg_bar(f, i ? before : s.from, x > before || i == 0 ? x : before, y + 25, 15, row_colour(d, i));
        if (i + 1 < n) svg_line(f, x, y + 25, x, y + 90, "a");
        before = x;
    }
    card_close(f);
}

// Every factor alone, on the set-up as it is: the median and the range of its rounds.
static void page_alone(FILE *f, const doctor *d) {
    double low = 0.8, high = 1.25, at;
    char gain[32];
    scale s;
    uint32_t n = 0, row = 0;
    int k;
    for (k = 0; k < N_LEVERS; k++) {
        const trial *t = alone(d, k);
        if (!t || !(t->gain > 0) || t->gain >= RUNS_AT_ALL) continue;
        n++;
        if (t->low < low && t->low > 0) low = t->low;
        if (t->high > high) high = t->high;
    }
    if (n == 0) return;
    s = scale_of(low, high, 8, PAGE_W - 60, 1);
    card_open(f, "Each change alone", "How many times faster than as it is, with the range over rounds. In the band it does not matter; "
              "grey is within the noise, or was tried once while another change gained far more.");
    svg_open(f, 40.0 * n + 22, "gain of each change alone");
    svg_bar(f, scale_at(&s, 1 / MATTERS), scale_at(&s, MATTERS), 0, 40.0 * n + 2, "grid");
    for (at = tick_first(&s); at < s.high; at = tick_after(&s, at)) {
        svg_line(f, scale_at(&s, at), 0, scale_at(&s, at), 40.0 * n + 4, "g");
        svg_text(f, scale_at(&s, at), 40.0 * n + 18, "s m n", "\xc3\x97%g", at);
    }
    svg_line(f, scale_at(&s, 1), 0, scale_at(&s, 1), 40.0 * n + 4, "a");
    for (k = 0; k < N_LEVERS; k++) {
        const trial *t = alone(d, k);
        const double y = 40.0 * row;
        const char *colour = t && trial_named(t) ? "one" : "was";
        if (!t || !(t->gain > 0) || t->gain >= RUNS_AT_ALL) continue;
        svg_text(f, 4, y + 14, "h", "%.60s", t->says);
        fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--%s)\" stroke-width=\"4\" stroke-linecap=\"round\" "
                "opacity=\".45\"/>", scale_at(&s, t->low), y + 26, scale_at(&s, t->high), y + 26, colour);
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\" fill=\"var(--%s)\"/>", scale_at(&s, t->gain), y + 26, colour);
        svg_text(f, PAGE_W - 4, y + 30, trial_named(t) ? "r b n" : "r s n", "%s", times_text(t->gain, gain, sizeof gain));
        row++;
    }
    card_close(f);
}

enum { STAGE_ANSWER = 64 };

static void page_stage_row(FILE *f, const outcome *r, const char *name, double y) {
    static const char *const names[] = { "load", "prompt", "answer" }, *const colours[] = { "three", "two", "one" };
    const double prompt = (double)PROBE_PREFILL;
    double ms[3], total = 0, x = 0;
    int k;
    ms[0] = r->load_ms;
    ms[1] = r->prefill_tok_s > 0 ? prompt * 1e3 / r->prefill_tok_s : r->prompt_ms * prompt / (double)PROBE_PROMPT;
    ms[2] = (double)STAGE_ANSWER * 1e3 / r->decode_tok_s;
    for (k = 0; k < 3; k++) total += ms[k];
    svg_text(f, 0, y + 13, "", "%s", name);
    svg_text(f, PAGE_W, y + 13, "r b n", total < 1000 ? "%.0f ms" : "%.3g s", total < 1000 ? total : total * 1e-3);
    for (k = 0; k < 3; k++) {
        const double w = ms[k] / total * (double)PAGE_W;
        svg_bar(f, x, x + (w > 3 ? w - 2 : w), y + 21, 26, colours[k]);
        if (w > 90) svg_text(f, x + w / 2, y + 38, "on m", "%s %.0f %%", names[k], 100 * ms[k] / total);
        x += w;
    }
}
static void page_stages(FILE *f, const doctor *d) {
    static const char *const names[] = { "load", "prompt", "answer" }, *const colours[] = { "three", "two", "one" };
    const outcome *yours = &d->steps[0].base.last, *end = &path_end(d)->last;
    const int two = path_rows(d) > 1 && yours->decode_tok_s > 0;
    const double y = two ? 124 : 62;
    int k;
    card_open(f, "Where the time goes", "Load, a prompt of %d tokens and an answer of %d, each bar in parts of its own whole.",
              (int)PROBE_PREFILL, (int)STAGE_ANSWER);
    svg_open(f, y + 14, "time of load, prompt and answer");
    if (two) page_stage_row(f, yours, "as it is", 0);
    page_stage_row(f, end, two ? "best found" : "as it is", two ? 62 : 0);
    for (k = 0; k < 3; k++) {
        svg_bar(f, 80.0 * k, 80.0 * k + 10, y, 10, colours[k]);
        svg_text(f, 80.0 * k + 15, y + 9, "s", "%s", names[k]);
    }
    card_close(f);
}

// Decode cannot be above the line: all the bytes of a token pass through memory.
static void page_roof(FILE *f, const doctor *d) {
    const uint32_t n = path_rows(d);
    double gb_s = 0, low_x = 0, high_x = 0, low_y = 0, high_y = 0, at;
    scale sx, sy;
    uint32_t i;
    for (i = 0; i < n; i++) {
        const outcome *r = &path_row(d, i)->last;
        if (!(r->decode_tok_s > 0)) continue;
        if (r->gb_s > gb_s) gb_s = r->gb_s;
        if (r->bytes_per_token > high_x) high_x = r->bytes_per_token;
        if (low_x == 0 || r->bytes_per_token < low_x) low_x = r->bytes_per_token;
        if (low_y == 0 || path_row(d, i)->tok_s < low_y) low_y = path_row(d, i)->tok_s;
    }
    if (!(gb_s > 0)) return;
    high_y = gb_s * 1e9 / low_x;
    sx = scale_of(low_x / 2, high_x * 2, 42, PAGE_W - 8, 1);
    sy = scale_of(low_y < high_y / 8 ? low_y / 1.5 : high_y / 8, high_y * 1.6, 208, 4, 1);
    card_open(f, "How near to the roof", "Each token reads its weights once; this machine reads %.3g GB/s. The best set-up gets %.0f %% of "
              "that.", gb_s, path_end(d)->last.bytes_per_token * path_end(d)->tok_s / gb_s * 1e-7);
    svg_open(f, 246, "tokens per second against bytes per token, below the line of the memory");
    fprintf(f, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"var(--roof)\"/>", sx.from, sy.to, sx.from,
            scale_at(&sy, gb_s * 1e9 / sx.low), sx.to, scale_at(&sy, gb_s * 1e9 / sx.high), sx.to, sy.to);
    for (at = tick_first(&sy); at < sy.high; at = tick_after(&sy, at)) {
        svg_line(f, sx.from, scale_at(&sy, at), sx.to, scale_at(&sy, at), "g");
        svg_text(f, sx.from - 6, scale_at(&sy, at) + 4, "s r n", "%g", at);
    }
    for (at = tick_first(&sx); at < sx.high && scale_at(&sx, at) < PAGE_W - 24; at = tick_after(&sx, at))
        svg_text(f, scale_at(&sx, at), 224, "s m n", at >= 1e9 ? "%g GB" : at >= 1e6 ? "%g MB" : "%g kB",
                 at / (at >= 1e9 ? 1e9 : at >= 1e6 ? 1e6 : 1e3));
    svg_text(f, (sx.from + sx.to) / 2, 242, "s m", "bytes per token");
    fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--edge)\" stroke-width=\"2\"/>", sx.from,
            scale_at(&sy, gb_s * 1e9 / sx.low), sx.to, scale_at(&sy, gb_s * 1e9 / sx.high));
    svg_text(f, sx.to - 6, 20, "s r", "out of reach: %.3g GB/s", gb_s);
    svg_text(f, sx.from + 6, 200, "s", "tokens per second");
    for (i = 0; i < n; i++)
        if (path_row(d, i)->tok_s > 0)
            svg_chip(f, scale_at(&sx, path_row(d, i)->last.bytes_per_token), scale_at(&sy, path_row(d, i)->tok_s), i + 1, row_colour(d, i));
    card_close(f);
}

// Rates by the number of threads in one step, ascending.
static uint32_t step_sweep(const step *st, double threads[MAX_TRIALS + 1], double rates[MAX_TRIALS + 1]) {
    uint32_t i, k, n = 0;
    for (i = 0; i <= st->n; i++) {
        const trial *t = i == st->n ? &st->base : &st->tries[i];
        if ((i < st->n && t->what != LEVER_THREADS) || !(t->tok_s > 0)) continue;
        for (k = n++; k > 0 && threads[k - 1] > t->last.threads; k--) { threads[k] = threads[k - 1]; rates[k] = rates[k - 1]; }
        threads[k] = t->last.threads;
        rates[k] = t->tok_s;
    }
    return n;
}
static void page_sweep_line(FILE *f, const step *st, const scale *sx, const scale *sy, const char *colour) {
    double threads[MAX_TRIALS + 1], rates[MAX_TRIALS + 1];
    const uint32_t n = step_sweep(st, threads, rates);
    char rate[32];
    uint32_t i;
    fprintf(f, "<polyline fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"2.5\" stroke-linejoin=\"round\" points=\"", colour);
    for (i = 0; i < n; i++) fprintf(f, "%.1f,%.1f ", scale_at(sx, threads[i]), scale_at(sy, rates[i]));
    fputs("\"/>", f);
    for (i = 0; i < n; i++) {
        const double x = scale_at(sx, threads[i]), y = scale_at(sy, rates[i]);
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"var(--%s)\" stroke=\"var(--card)\" stroke-width=\"2\"/>", x, y,
                colour);
        if (n <= 8) svg_text(f, x, y - 9, x > sx->to - 14 ? "r n" : "m n", "%s", rate_text(rates[i], rate, sizeof rate));
    }
}
static void page_sweep(FILE *f, const doctor *d) {
    const step *first = NULL, *last = NULL;
    double threads[MAX_TRIALS + 1], rates[MAX_TRIALS + 1], most = 1, high = 0, at;
    uint32_t i, k, n;
    scale sx, sy;
    for (k = 0; k < d->n_steps; k++) {
        n = step_sweep(&d->steps[k], threads, rates);
        if (n < 2) continue;
        if (!first) first = &d->steps[k];
        last = &d->steps[k];
        for (i = 0; i < n; i++) {
            if (threads[i] > most) most = threads[i];
            if (rates[i] > high) high = rates[i];
        }
    }
    if (!first) return;
    sx.is_log = most > 8;
    sx.low = 1; sx.high = most; sx.from = 54; sx.to = PAGE_W - 20;
    sy = scale_of(0, high * 1.08, 190, 8, 0);
    card_open(f, "Threads", "Tokens per second by the number of threads; this machine has %u CPU%s.", (unsigned)cpus_online(),
              cpus_online() == 1 ? "" : "s");
    svg_open(f, first == last ? 228 : 250, "tokens per second by threads");
    for (at = tick_first(&sy); at < sy.high; at = tick_after(&sy, at)) {
        svg_line(f, 40, scale_at(&sy, at), PAGE_W - 4, scale_at(&sy, at), "g");
        svg_text(f, 34, scale_at(&sy, at) + 4, "s r n", "%g", at);
    }
    for (at = 1; at <= most; at += sx.is_log ? at : 1) svg_text(f, scale_at(&sx, at), 206, "s m n", "%g", at);
    svg_text(f, (sx.from + sx.to) / 2, 224, "s m", "threads");
    page_sweep_line(f, first, &sx, &sy, first == last ? "one" : "was");
    if (first != last) {
        page_sweep_line(f, last, &sx, &sy, "good");
        svg_bar(f, 54, 64, 237, 10, "was");
        svg_text(f, 70, 246, "s", "as it is");
        svg_bar(f, 160, 170, 237, 10, "good");
        svg_text(f, 176, 246, "s", "after repairs");
    }
    card_close(f);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>page

static void page_hero(FILE *f, const doctor *d) {
    const trial *yours = path_row(d, 0), *end = path_end(d);
    const step *st = &d->steps[0];
    char rate[32], line[400], why[300];
    fputs("<div class=\"hero\"><div class=\"big\">", f);
    if (st->chosen >= 0)
        fprintf(f, "<span class=\"was\">%s</span><span class=\"arrow\">\xe2\x86\x92</span>",
                yours->tok_s > 0 ? rate_text(yours->tok_s, rate, sizeof rate) : "0");
    fprintf(f, "%s<span class=\"unit\">tokens/s</span></div>", rate_text(end->tok_s, rate, sizeof rate));
    fputs("<div class=\"first\"><b>", f);
    if (st->chosen >= 0) {
        const trial *t = &st->tries[st->chosen];
        fputs("Change first</b>", f);
        html_sentence(f, t->says);
        trial_why(&st->base, t, why, sizeof why);
        fputs("<div class=\"soft\">", f);
        html_sentence(f, why);
        fputs("</div><div class=\"soft\">Best found: <code>", f);
        setup_text(&end->u, line, sizeof line);
        html_text(f, line);
        fputs("</code></div>", f);
    } else if (doctor_is_healthy(d)) fputs("Healthy</b>Nothing that was tried gains 10 % beyond the noise.", f);
    else if (yours->n >= 3) fputs("Not healthy</b>Nothing that was tried gains 10 % beyond the noise, but see what is left.", f);
    else fputs("Not finished</b>It was ended before there was enough to judge.", f);
    fputs("</div></div>\n", f);
}

static void page_item(FILE *f, const char *format, ...) {
    va_list args;
    fputs("<li>", f);
    va_start(args, format);
    html_args(f, format, args);
    va_end(args);
    fputs("</li>", f);
}
static void page_also(FILE *f, const doctor *d) {
    const step *st = &d->steps[0];
    const outcome *end = &path_end(d)->last;
    uint32_t i, n = end->n_notes + (d->cold_first_ms > 0) + (*d->cold_skipped != 0) + (d->sustained.sustained_tok_s > 0);
    for (i = 0; i < st->n; i++) n += *st->tries[i].last.error != 0;
    if (n == 0) return;
    fputs("<section class=\"card\"><h2>What else there is</h2><ul>", f);
    for (i = 0; i < end->n_notes; i++) {
        fputs("<li>", f);
        html_sentence(f, end->notes[i].text);
        html_sentence(f, end->notes[i].advice);
        fputs("</li>", f);
    }
    if (d->cold_first_ms > 0)
        page_item(f, "Cold start: the first token comes after %.2f s, after %.2f s when the file is in the page cache.",
                  d->cold_first_ms * 1e-3, d->warm_first_ms * 1e-3);
    else if (*d->cold_skipped) page_item(f, "No cold start was tried: %s.", d->cold_skipped);
    if (d->sustained.sustained_tok_s > 0)
        page_item(f, "Sustained: %.3g tokens/s after a minute, %.3g at its beginning.", d->sustained.sustained_tok_s,
                  d->sustained.burst_tok_s);
    for (i = 0; i < st->n; i++)
        if (*st->tries[i].last.error) page_item(f, "Not tried: %s (%s)", st->tries[i].says, st->tries[i].last.error);
    fputs("</ul></section>\n", f);
}

static void page_table(FILE *f, const doctor *d) {
    static const char *const heads[] = { "tok/s", "rounds", "gain", "range", "first token", "faults/token" };
    char rate[32], gain[32], line[400];
    uint32_t i, k;
    fputs("<details><summary>Everything that was measured</summary><div class=\"scroll\"><table><tr><th>step</th><th>set-up</th>", f);
    for (i = 0; i < sizeof heads / sizeof heads[0]; i++) fprintf(f, "<th class=\"num\">%s</th>", heads[i]);
    fputs("</tr>", f);
    for (i = 0; i < d->n_steps; i++)
        for (k = 0; k <= d->steps[i].n; k++) {
            const trial *t = k ? &d->steps[i].tries[k - 1] : &d->steps[i].base;
            if (t->n == 0) continue;
            setup_text(&t->u, line, sizeof line);
            fprintf(f, "<tr><td>%u</td><td>", (unsigned)(i + 1));
            html_text(f, line);
            fprintf(f, "</td><td class=\"num\">%s</td><td class=\"num\">%u</td><td class=\"num\">%s</td><td class=\"num\">",
                    rate_text(t->tok_s, rate, sizeof rate), (unsigned)t->n, k ? times_text(t->gain, gain, sizeof gain) : "");
            if (k && t->n > 1) fprintf(f, "%.2f\xe2\x80\x93%.2f", t->low, t->high);
            fprintf(f, "</td><td class=\"num\">%.0f ms</td><td class=\"num\">%.3g</td></tr>\n", t->last.first_ms, t->last.faults_per_token);
        }
    fputs("</table></div></details>\n", f);
}

static void page_write(FILE *f, const doctor *d) {
    const trial *yours = &d->steps[0].base;
    char line[400];
    setup_text(&yours->u, line, sizeof line);
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/><title>llm doctor</title><style>", f);
    fputs(page_style, f);
    fputs("</style></head>\n<body><main><header><h1>", f);
    html_text(f, line);
    fputs("</h1><p class=\"soft\">", f);
    html_format(f, "%s, %u CPUs, %s", d->cpu, (unsigned)cpus_online(), yours->last.isa);
    if (yours->last.temperature_c > 0) html_format(f, ", %.0f \xc2\xb0" "C at the start", yours->last.temperature_c);
    if (d->load > 0.5 * cpus_online()) html_format(f, ", busy (load %.1f at the start)", d->load);
    fputs("</p></header>\n", f);
    page_hero(f, d);
    fputs("<div class=\"cards\">\n", f);
    if (path_rows(d) > 1) page_waterfall(f, d);
    page_alone(f, d);
    page_stages(f, d);
    page_roof(f, d);
    page_sweep(f, d);
    page_also(f, d);
    fputs("</div>\n", f);
    page_table(f, d);
    fprintf(f, "<footer>llm doctor %d.%d.%d, %u experiments in %.0f s, each in a process of its own, medians of interleaved rounds in "
            "random order (seed %llu)%s.</footer></main></body></html>\n", LLM_VERSION_MAJOR, LLM_VERSION_MINOR, LLM_VERSION_PATCH,
            (unsigned)d->n_run, (now_ms() - d->start) * 1e-3, (unsigned long long)d->seed,
            time_is_up(d) ? "; ended before all was tried" : "");
}
