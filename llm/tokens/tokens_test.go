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
