package args

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check compares an outcome with what is wanted: JSON, or, in a want that
// begins with "!", a part of the refusal.
func check(t *testing.T, in string, got json.RawMessage, err error, want string) {
	t.Helper()
	if part, refused := strings.CutPrefix(want, "!"); refused {
		if err == nil {
			t.Fatalf("%q was read as %s, want a refusal", in, got)
		}
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is refused with %q, want %q in it", in, err, part)
		}
		return
	}
	if err != nil {
		t.Fatalf("%q is refused with %q, want %s", in, err, want)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%q (-want +got):\n%s", in, diff)
	}
}

const fence = "```"

func TestNative(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"object", `{"a": 1, "b": [true, null]}`, `{"a":1,"b":[true,null]}`},
		{"empty", ``, `{}`},
		{"blank", " \n\t", `{}`},
		{"null", `null`, `{}`},
		{"byte order mark", "\ufeff{}", `{}`},
		{"numbers as written", `{"a": 12345678901234567890.10, "b": 1e3}`, `{"a":12345678901234567890.10,"b":1e3}`},
		{"escapes as written", `{"a": "\u00e9<&>\/"}`, `{"a":"\u00e9<&>\/"}`},
		{"trailing prose", "{\"a\":1}\nI call the tool now.", `{"a":1}`},
		{"fence", fence + "json\n{\"a\":1}\n" + fence, `{"a":1}`},
		{"fence on one line", fence + `{"a":1}` + fence, `{"a":1}`},
		{"fence and prose", fence + "json\r\n{\"a\":1}\r\n" + fence + "\nDone.", `{"a":1}`},
		{"fence not closed", fence + "json\n{\"a\":1}", `{"a":1}`},
		{"nested", `{"a":{"b":[{"c":{}}]}}`, `{"a":{"b":[{"c":{}}]}}`},
		{"lone surrogate", `{"a":"\ud800"}`, `!half of a character`},
		{"the wrong way round", `{"a":"\udc00\ud800"}`, `!half of a character`},
		{"half, and more", `{"a":"\ud800x\udc00"}`, `!half of a character`},
		{"a whole one", `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},
		{"escaped backslashes", `{"a":"\\\\ud800"}`, `{"a":"\\\\ud800"}`},

		{"cut in a string", `{"path": "/srv/da`, `!end in the middle`},
		{"cut after a string", `{"path": "/srv/da"`, `!end in the middle`},
		{"cut after a comma", `{"a": 1,`, `!end in the middle`},
		{"cut in a word", `{"a": tru`, `!end in the middle`},
		{"cut after an escape", `{"a": "x\`, `!end in the middle`},
		{"cut in a list", `{"a": [1, 2`, `!end in the middle`},
		{"only a brace", `{`, `!end in the middle`},
		{"only a fence", fence + "json\n", `!end in the middle`},
		{"cut within a fence", fence + "json\n{\"a\":", `!end in the middle`},

		{"leading prose", `Sure: {"a":1}`, `!not valid JSON`},
		{"single quotes", `{'a': 1}`, `!not valid JSON`},
		{"trailing comma", `{"a": 1,}`, `!not valid JSON`},
		{"unquoted name", `{a: 1}`, `!not valid JSON`},
		{"Python words", `{"a": True}`, `!not valid JSON`},
		{"invalid escape", `{"a": "\d+"}`, `!not valid JSON`},
		{"raw newline", "{\"a\": \"x\ny\"}", `!not valid JSON`},
		{"NaN", `{"a": NaN}`, `!not valid JSON`},
		{"comment", `{"a": 1 /* one */}`, `!not valid JSON`},
		{"two objects", `{"a":1}{"b":2}`, `!go on after the end`},
		{"two objects, two lines", "{\"a\":1}\n{\"b\":2}", `!go on after the end`},
		{"object ends early, single quotes", `{"a":1} 'b': 2}`, `!go on after the end`},
		{"misplaced brace", `{"a":{"b":1}},"c":2}`, `!go on after the end`},
		{"one brace too many", `{"a":1}}`, `!go on after the end`},
		{"list", `[{"a":1}]`, `!not a list`},
		{"empty object first", `{}{"a":1}`, `{"a":1}`},
		{"empty objects first", "{} { }\n{\"a\":1}", `{"a":1}`},
		{"empty objects alone", `{}{}`, `{}`},
		{"null first", `null{"a":1}`, `{"a":1}`},
		{"an empty string first", `""{"a":1}`, `{"a":1}`},
		{"an empty object first, in a string", `"{}{\"a\":1}"`, `{"a":1}`},
		{"an empty object first, then a string", `{}"{\"a\":1}"`, `{"a":1}`},
		{"an object three times in strings", `"\"\\\"{\\\\\\\"a\\\\\\\":1}\\\"\""`, `{"a":1}`},
		{"a string of white space", `" \n"`, `{}`},
		{"an empty list as a string", `"[]"`, `{}`},
		{"a string with a fence", `"` + fence + `json\n{\"a\":1}\n` + fence + `"`, `{"a":1}`},
		{"a closing tag behind", `{"a":1}</tool_call>`, `{"a":1}`},
		{"a token behind", `{"a":1}<|im_end|>`, `{"a":1}`},
		{"the same object twice", `{"a":1}{"a":1}`, `!go on after the end`},
		{"empty object last", `{"a":1}{}`, `!go on after the end`},
		{"empty object, then half of one", `{}{"a":`, `!end in the middle`},
		{"empty object, then a list", `{}[1]`, `!go on after the end`},
		{"empty list", ` [ ] `, `{}`},
		{"object as a string", `"{\"a\":1}"`, `{"a":1}`},
		{"object as a string, twice", `"\"{\\\"a\\\":1}\""`, `{"a":1}`},
		{"empty string", `""`, `{}`},
		{"empty object as a string", `"{}"`, `{}`},
		{"null as a string", `"null"`, `{}`},
		{"half an object as a string", `"{\"a\":"`, `!end in the middle`},
		{"two objects as a string", `"{\"a\":1}{\"b\":1}"`, `!go on after the end`},
		{"half a character in a string", `"{\"a\":\"\ud800\"}"`, `!not a string`},
		{"another string", `"prod"`, `!not a string`},
		{"a list as a string", `"[1]"`, `!not a string`},
		{"a string and more", `"{}" "{}"`, `!go on after the end`},
		{"number", `12`, `!not a number`},
		{"boolean", `true`, `!not a boolean`},
		{"name twice", `{"env":"staging","env":"prod"}`, `!"env" is there twice`},
		{"name twice, escaped", `{"env":1,"\u0065nv":2}`, `!"env" is there twice`},
		{"name twice, inside", `{"a":[{"b":1,"b":2}]}`, `!"b" is there twice`},
		{"same name in two objects", `{"a":{"b":1},"c":{"b":2}}`, `{"a":{"b":1},"c":{"b":2}}`},
		{"name that is also a value", `{"a":"a","b":"a"}`, `{"a":"a","b":"a"}`},
		{"too deep", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `!levels deep`},
		{"enormous exponent", `{"a":1e999999999}`, `!exponent`},
		{"overflowing exponent", `{"a":1e99999999999999999999}`, `!exponent`},
		{"enormous number", `{"a":` + strings.Repeat("9", 2000) + `}`, `!digits`},
		{"not UTF-8", "{\"a\":\"\xff\"}", `!UTF-8`},
		{"too long", `{"a":"` + strings.Repeat("x", MaxSize) + `"}`, `!longer than`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Native(tt.in)
			check(t, tt.in, got, err, tt.want)
		})
	}
}

func TestUnclosedIsTold(t *testing.T) {
	const whole = `{"path":"/srv/a \"b\" \u00e9","n":[1.5e3,true,{"x":null}],"s":"}"}`
	schema, err := Compile(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole); n++ {
		if got, err := Native(whole[:n]); !errors.Is(err, ErrUnclosed) {
			t.Errorf("Native(%q) = %s, %v; want ErrUnclosed", whole[:n], got, err)
		}
		if got, err := Text(whole[:n], schema); !errors.Is(err, ErrUnclosed) {
			t.Errorf("Text(%q) = %s, %v; want ErrUnclosed", whole[:n], got, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"sorted", `{"b": 1, "a": {"d": 1, "c": 2}}`, `{"a":{"c":2,"d":1},"b":1}`},
		{"numbers untouched", `{"a":12345678901234567890123,"b":1.0,"c":1e2}`, `{"a":12345678901234567890123,"b":1.0,"c":1e2}`},
		{"no HTML escapes", `{"a":"\u003cb\u003e&"}`, `{"a":"<b>&"}`},
		{"one form of a letter", `{"a":"\u00e9\/"}`, `{"a":"é/"}`},
		{"lists keep their order", `{"a":[3,1,2]}`, `{"a":[3,1,2]}`},
		{"not JSON", `{"a":`, `{"a":`},
		{"empty", ``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Canonical(json.RawMessage(tt.in))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	a := Digest("deploy", json.RawMessage(`{"env":"prod", "n":1}`))
	if b := Digest("deploy", json.RawMessage(`{"n":1,"env":"pr\u006fd"}`)); a != b {
		t.Error("two ways of writing the same call have different digests")
	}
	if len(a) != 64 {
		t.Errorf("digest %q is not hex SHA-256", a)
	}
	for _, other := range []string{
		Digest("deploy", json.RawMessage(`{"env":"prod","n":1.0}`)),
		Digest("deploy", json.RawMessage(`{"env":"prod","n":"1"}`)),
		Digest("deploy2", json.RawMessage(`{"env":"prod","n":1}`)),
		Digest("deploy", nil),
	} {
		if other == a {
			t.Error("different calls have one digest")
		}
	}
	// printf 'deploy\0{"env":"prod","n":1}' | sha256sum
	if want := "10aa9f48468435339c839ffce6a0e81bdb9fcca96cabd793e964051f66c02c82"; a != want {
		t.Errorf("digest %s, want %s", a, want)
	}
}
