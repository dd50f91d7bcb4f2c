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
