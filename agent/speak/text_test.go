package speak_test

import (
	"testing"

	"nod/agent/speak"
)

func FuzzClip(f *testing.F) {
	f.Add("héllo wörld", 20)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 32 || n > 1<<16 {
			t.Skip()
		}
		got := speak.Clip(text, n)
		if len(got) > len(text) || len(text) > n && len(got) > n {
			t.Errorf("Clip(%d bytes, %d) has %d bytes", len(text), n, len(got))
		}
	})
}

// A remark under a text that was cut off is no part of its code.
func TestUnfenced(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "", "```sh\nls": "```sh\nls\n```", "```\nls\n```\n": "```\nls\n```\n", "~~~~\n```\nx\n": "~~~~\n```\nx\n~~~~",
		"`a` and ``b``": "`a` and ``b``", "a\n```go\nx\n```\n```": "a\n```go\nx\n```\n```\n```",
	} {
		if got := speak.Unfenced(in); got != want {
			t.Errorf("Unfenced(%q) = %q, want %q", in, got, want)
		}
	}
}
