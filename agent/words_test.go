package agent

import (
	"strings"
	"testing"
)

// Only a text that is nothing but the word is a command.
func TestParseCommand(t *testing.T) {
	for text, want := range map[string]string{
		"stop": "stop", "STOP": "stop", "  Forget \n": "forget", "help": "help", "Memory": "memory", "steps": "steps",
		"stop it": "", "please stop": "", "": "", "help!": "", "forget about it": "", "stop stop": "",
	} {
		if word, _, ok := parseCommand(text); word != want && (ok || want != "") {
			t.Errorf("parseCommand(%q) = %q, %v; want %q", text, word, ok, want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("Stop")
	f.Add("forget\u00a0")
	f.Fuzz(func(t *testing.T, text string) {
		word, _, ok := parseCommand(text)
		if ok && !strings.EqualFold(word, strings.TrimSpace(text)) {
			t.Errorf("parseCommand(%q) = %q: a command out of more than the word", text, word)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("héllo wörld", 20)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 32 || n > 1<<16 {
			t.Skip()
		}
		got := clip(text, n)
		if len(got) > len(text) || len(text) > n && len(got) > n {
			t.Errorf("clip(%d bytes, %d) has %d bytes", len(text), n, len(got))
		}
	})
}
