package mask

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

const (
	token = "xoxb-hunter2/+ä&\"q\""
	key   = "s3cr3t-key"
)

func TestText(t *testing.T) {
	m := New("Bearer "+key, "https://u:pass-word@host.example/mcp?key=in-the-url&x=1", token, "short", "", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n")
	tests := []struct{ name, in, want string }{
		{"nothing", "nothing to see", "nothing to see"},
		{"a token", "it is " + token + ".", "it is [secret]."},
		{"twice", key + key, "[secret][secret]"},
		{"a header", "Authorization: Bearer " + key, "Authorization: [secret]"},
		{"the last word of a header", "X: " + key, "X: [secret]"},
		{"an address", "GET https://u:pass-word@host.example/mcp?key=in-the-url&x=1 200", "GET [secret] 200"},
		{"a password", "pass-word", "[secret]"},
		{"a query", "?key=in-the-url", "?key=[secret]"},
		{"in a query", url.QueryEscape(token), "[secret]"},
		{"in a path", url.PathEscape(token), "[secret]"},
		{"in JSON", `{"a":"xoxb-hunter2/+ä\u0026\"q\""}`, `{"a":"[secret]"}`},
		{"in base64", base64.StdEncoding.EncodeToString([]byte(token)), "[secret]"},
		{"in base64 of addresses", base64.RawURLEncoding.EncodeToString([]byte(token)), "[secret]"},
		{"in base64 behind a name", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+key)), "Basic dTp[secret]"},
		{"in base64 behind another one", "Basic " + base64.StdEncoding.EncodeToString([]byte("ab:"+key+".")), "Basic YWI6[secret]S4="},
		{"in the address of a script", "a=" + strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(token)), "a=[secret]"},
		{"in small letters", strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%C3%A4", "%c3%a4").Replace(url.QueryEscape(token)), "[secret]"},
		{"in PHP's JSON", `"xoxb-hunter2\/+ä&\"q\""`, `"[secret]"`},
		{"in JSON for no page", `"xoxb-hunter2/+ä&\"q\""`, `"[secret]"`},
		{"a line of a key", "MIIEvQIBADANBgkqhkiG9w0", "[secret]"},
		{"what is too short", "a short one, x=1", "a short one, x=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.Text(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := string(m.Bytes([]byte(tt.in))); got != tt.want {
				t.Errorf("as bytes %q, want %q", got, tt.want)
			}
		})
	}
	later := New("", "short")
	if later.Text(key) != key {
		t.Error("a mask of nothing changes something")
	}
	for _, value := range []string{key, "another-key"} {
		later.Learn(value)
	}
	if got := later.Text(key + " and another-key"); got != "[secret] and [secret]" {
		t.Errorf("what it learnt is not masked: %s", got)
	}
	var none *Mask
	if none.Text(key) != key || none.Error(errors.New(key)).Error() != key || string(none.Bytes([]byte(key))) != key {
		t.Error("no mask changes something")
	}
}

type said struct{ words string }

func (s said) Error() string { return s.words }

func TestError(t *testing.T) {
	m := New(key)
	err := m.Error(fmt.Errorf("get %s: %w", key, said{"no " + key}))
	var inner said
	if err.Error() != "get [secret]: no [secret]" || !errors.As(err, &inner) {
		t.Errorf("%v, %#v", err, inner)
	}
	if plain := errors.New("plain"); !errors.Is(m.Error(plain), plain) || m.Error(nil) != nil {
		t.Error("an error without secrets is another one")
	}
}

type pair struct{ A, B string }

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(New(key).Handler(slog.NewJSONHandler(&out, nil)))
	log = log.With("with", key).WithGroup("g").With("in", key)
	log.Info("message "+key, "text", key, "error", errors.New("no "+key), "any", pair{"a", key}, slog.Group("h", "i", key), "number", 7, "list", []string{key})
	if got := out.String(); strings.Contains(got, key) || strings.Count(got, Sign) != 8 || !strings.Contains(got, `"number":7`) {
		t.Error(got)
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	if n, err := fmt.Fprintf(New(key).Writer(&out), "ok %s\n", key); n != len(key)+4 || err != nil || out.String() != "ok [secret]\n" {
		t.Errorf("%d, %v: %q", n, err, out.String())
	}
}

func FuzzText(f *testing.F) {
	f.Add("a s3cr3t-key b")
	m := New(key)
	f.Fuzz(func(t *testing.T, text string) {
		if got := m.Text(text); strings.Contains(got, key) {
			t.Errorf("%q", got)
		}
	})
}
