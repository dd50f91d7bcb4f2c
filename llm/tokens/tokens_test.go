package tokens_test

import (
	"strings"
	"testing"

	"nod/llm/tokens"
)

func TestCount(t *testing.T) {
	known, unknown := tokens.New("gpt-4o"), tokens.New("some-local-model")
	for _, text := range []string{"hello world", "ein längerer Satz mit Umläuten", "日本語のテキスト", strings.Repeat("tokens and more tokens ", 50)} {
		k, u := known.Count(text), unknown.Count(text)
		if k < 1 || k > len(text) {
			t.Errorf("Count(%.20q) = %d, want between 1 and its bytes", text, k)
		}
		if u < k || float64(u) > 1.1*float64(k)+1 {
			t.Errorf("Count(%.20q) of an unknown model = %d, want a tenth more than %d", text, u, k)
		}
		if again := known.Count(text); again != k {
			t.Errorf("Count(%.20q) a second time = %d, want %d", text, again, k)
		}
	}
	if n := known.Count("hello world"); n != 2 {
		t.Errorf("Count(hello world) = %d, want 2", n)
	}
}

// A model of the table is known by the beginning of its name; others get an estimate.
func TestModels(t *testing.T) {
	const text = "これは日本語の文章です。 Она написала длинное письмо."
	known, other := tokens.New("gpt-4o").Count(text), tokens.New("llama").Count(text)
	for model, want := range map[string]int{
		"gpt-5-mini": known, "gpt-5.1": known, "gpt-4.1-nano": known, "gpt-4o-2024-08-06": known, "o3-mini": known, "o4-mini-high": known,
		"chatgpt-4o-latest": known, "ft:gpt-4o-mini:acme": known, "gpt-4-turbo": other, "gpt-3.5-turbo-0125": other,
	} {
		if n := tokens.New(model).Count(text); n != want {
			t.Errorf("%s: %d tokens, want %d", model, n, want)
		}
	}
}
