package agent

import (
	"slices"
	"strings"
	"testing"
)

// Only a text that is nothing but the word is a command.
func TestParseCommand(t *testing.T) {
	for text, want := range map[string]string{
		"stop": "stop", "STOP": "stop", "  Forget \n": "forget", "help": "help", "Memory": "memory", "steps": "steps",
		"artifacts": "artifacts", "Drop a.csv": "drop", "drop `a b.csv`": "drop", "tools off fetch": "tools off", "Tools  ON fetch": "tools on",
		"drop": "", "tools": "", "tools off": "", "tools off the web": "", "drop " + strings.Repeat("x", 300): "", "recap": "recap",
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
		word, arg, ok := parseCommand(text)
		if ok && arg == "" && !strings.EqualFold(word, strings.TrimSpace(text)) {
			t.Errorf("parseCommand(%q) = %q: a command out of more than the word", text, word)
		}
		if ok && arg != "" && !slices.Contains(naming, word) {
			t.Errorf("parseCommand(%q) = %q, %q: that word takes no name", text, word, arg)
		}
	})
}
