package chat_test

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"nod/chat"
)

// Nothing in arguments is hidden from those who approve them, or looks like
// something else.
func TestExact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"x"}`: `{"a":"x"}`, "héllo 日本 👍": "héllo 日本 👍", "a\u200bb": `a\u200bb`, "\u202ecod": `\u202ecod`,
		"\x1b[31m": `\u001b[31m`, "\u2028": `\u2028`, "\U000E0041": `\udb40\udc41`, "a\nb\tc": "a\nb\tc", "\xff": "\uFFFD",
		// without a form of their own
		"\u3164\uffa0\u115f\u034f\u17b4\u2800\u00a0\u200a\ufe0f\U000e0100": `\u3164\uffa0\u115f\u034f\u17b4\u2800\u00a0\u200a\ufe0f\udb40\udd00`,
		// forms of others
		"ｐｒｏｄ":    `\uff50\uff52\uff4f\uff44`,
		"𝐩rod":    `\ud835\udc29rod`,
		"a∕b‐c":   `a\u2215b\u2010c`,
		"e\u0301": `e\u0301`,
		// letters of other scripts
		"pr\u043ed":           `pr\u043ed`,
		`"\u0430":"к \u0430"`: `"\u0430":"к \u0430"`,
		`{"a":"Москва и Тверь","b":"сор"}`: `{"a":"Москва и Тверь","b":"\u0441\u043e\u0440"}`,
		"Ελλάδα": "Ελλάδα", "東京tower": "東京tower", "naïve größe": "naïve größe", "שלום": "שלום", "हिन्दी": "हिन्दी",
	} {
		if got := chat.Exact(in); got != want {
			t.Errorf("Exact(%q) = %q, want %q", in, got, want)
		}
	}
}

// A text that people only read keeps its emoji and spaces.
func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"❤\ufe0f a\u00a0b": "❤\ufe0f a\u00a0b", "a\u202eb": `a\u202eb`, "\x1b": `\u001b`} {
		if got := chat.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// The shown form of any arguments decodes to the bound value, and holds no invisible
// character.
func FuzzExact(f *testing.F) {
	for _, s := range []string{"a\u200bb", `\u202e`, "\U000e0041\\", "\"", "сор", "pr\u043ed", "\xff\u2800"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal(map[string]string{"x": s, s: "y"})
		if err != nil {
			t.Fatal(err)
		}
		shown := chat.Exact(string(raw))
		var want, got map[string]string
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal([]byte(shown), &got) != nil || len(got) != len(want) {
			t.Fatalf("%q is shown as %q, which is not the same", raw, shown)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%q is shown as %q: %q is %q", raw, shown, k, got[k])
			}
		}
		for _, r := range shown {
			if r != '\n' && r != '\t' && r != utf8.RuneError && (!unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)) {
				t.Errorf("%q holds %U", shown, r)
			}
		}
		if again := chat.Exact(shown); again != shown {
			t.Errorf("shown twice %q becomes %q", shown, again)
		}
	})
}
