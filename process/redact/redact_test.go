package redact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/process/redact"
)

// imported is a key of another form, with characters that escaping changes.
const imported = `pass/word "with" odd+chars?=100%&é`

// token has the form of a signed JWT.
const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJlLW9mLWEtdG9rZW4"

// escapeAll percent-encodes every byte.
func escapeAll(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02x", text[i])
	}
	return b.String()
}

func TestKeysAreHiddenHoweverTheyAreEscaped(t *testing.T) {
	made := evidence.NewAPIKey().Reveal()
	for form, escape := range map[string]func(string) string{
		"as it is":                func(s string) string { return s },
		"in a path":               url.PathEscape,
		"in a query":              url.QueryEscape,
		"all percent-encoded":     escapeAll,
		"encoded in upper case":   func(s string) string { return strings.ToUpper(escapeAll(s)) },
		"percent-encoded twice":   func(s string) string { return url.PathEscape(escapeAll(s)) },
		"quoted":                  func(s string) string { return fmt.Sprintf("%q", s) },
		"beside a broken escape":  func(s string) string { return "%zz%" + s + "%4" },
		"with an underscore only": func(s string) string { return strings.ReplaceAll(s, "_", "%5F") },
	} {
		for name, key := range map[string]string{"a made key": made, "the request's own key": imported, "a signed token": token} {
			t.Run(name+", "+form, func(t *testing.T) {
				ctx := redact.With(t.Context(), imported)
				got := redact.Text(ctx, "before "+escape(key)+" behind")
				if !strings.Contains(got, "[hidden]") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind") {
					t.Errorf("got %q", got)
				}
				if plain, _ := url.PathUnescape(got); strings.Contains(got+plain, key[5:20]) {
					t.Errorf("part of the key is in %q", got)
				}
			})
		}
	}
}

func TestOtherTextIsLeftAsItIs(t *testing.T) {
	ctx := redact.With(t.Context(), imported, "", "Bearer")
	for _, text := range []string{
		"", "att_", "att_short", "a 100% plain text with %41 escapes", "Bearer", "pass/word", "att_not-base62-but-a-long-name",
	} {
		if got := redact.Text(ctx, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := redact.Text(t.Context(), imported); got != imported {
		t.Errorf("the key of no request became %q", got)
	}
}

func TestTruncatedKeyIsHidden(t *testing.T) {
	const key = "correct-horse-battery-staple"
	ctx := redact.With(t.Context(), key)
	for text, want := range map[string]string{
		"[input: " + key[:16] + "…]":         "[input: [hidden]…]",
		"[input: " + key[:27] + "…]":         "[input: [hidden]…]",
		key[:20] + key + "," + key[:20]:      "[hidden][hidden],[hidden]",
		"/%63orrect-horse-battery-%73t%":     "/[hidden]%",
		"/" + key[:15] + "/" + key[1:]:       "/" + key[:15] + "/" + key[1:],
		key[:16] + "y, " + key[:15] + "-not": "[hidden]y, " + key[:15] + "-not",
	} {
		if got := redact.Text(ctx, text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestSeveralKeysAreHiddenEach(t *testing.T) {
	first, second := evidence.NewAPIKey().Reveal(), evidence.NewAPIKey().Reveal()
	ctx := redact.With(t.Context(), first, first[:30])
	if got := redact.Text(ctx, first+","+second+", "+url.PathEscape(first)); got != "[hidden],[hidden], [hidden]" {
		t.Errorf("got %q", got)
	}
}

// resolved is logged as its LogValue.
type resolved struct{ text string }

func (r resolved) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", r.text)) }

func TestHandlerHidesKeysInAllThatIsLogged(t *testing.T) {
	key := evidence.NewAPIKey().Reveal()
	for name, write := range map[string]func(ctx context.Context, log *slog.Logger){
		"the message": func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "got "+key) },
		"a text":      func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", "a", key) },
		"an error": func(ctx context.Context, log *slog.Logger) {
			log.InfoContext(ctx, "m", "a", fmt.Errorf("wrap: %w", errors.New(key)))
		},
		"a panic":                  func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", slog.Any("panic", any(key))) },
		"a list":                   func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", "a", []string{"x", key}) },
		"a map":                    func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", "a", map[string]int{key: 1}) },
		"a struct":                 func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", "a", struct{ K string }{key}) },
		"a group":                  func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", slog.Group("g", "a", key)) },
		"a value that is resolved": func(ctx context.Context, log *slog.Logger) { log.InfoContext(ctx, "m", "a", resolved{key}) },
		"an attribute of the logger": func(ctx context.Context, log *slog.Logger) {
			log.With("a", key).WithGroup("g").InfoContext(ctx, "m", "b", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			write(t.Context(), slog.New(redact.NewHandler(slog.NewJSONHandler(&out, nil))))
			if strings.Contains(out.String(), key) || !strings.Contains(out.String(), "[hidden]") {
				t.Errorf("logged %s", out.String())
			}
		})
	}
}

func TestHandlerHidesTheKeyOfTheRequest(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(redact.NewHandler(slog.NewJSONHandler(&out, nil)))
	log.InfoContext(redact.With(t.Context(), imported), "m", "path", "/x/"+url.PathEscape(imported), "error", errors.New(imported))
	if strings.Contains(out.String(), "pass") || strings.Count(out.String(), "[hidden]") != 2 {
		t.Errorf("logged %s", out.String())
	}
}

func TestHandlerLeavesOtherValuesAsTheyAre(t *testing.T) {
	var plain, clean bytes.Buffer
	without := func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}
	options := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: without}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&plain, options), redact.NewHandler(slog.NewJSONHandler(&clean, options))} {
		slog.New(handler).With("p", "api").Debug("m", "n", 1, "f", 1.5, "e", errors.New("x"), "q", map[string]int{"reports": 6},
			"s", evidence.Secret("x"), "c", make(chan int), "nil", nil, slog.Group("g", "a", true))
	}
	if plain.String() != clean.String() || plain.Len() == 0 {
		t.Errorf("got  %s\nwant %s", clean.String(), plain.String())
	}
}
