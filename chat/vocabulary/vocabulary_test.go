package vocabulary

import (
	"slices"
	"strings"
	"testing"
)

// Only a text that is nothing but the word is one.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"stop": "stop", "STOP": "stop", "  Forget \n": "forget", "help": "help", "Memory": "memory", "steps": "steps",
		"artifacts": "artifacts", "Drop a.csv": "drop", "drop `a b.csv`": "drop", "tools off fetch": "tools off", "Tools  ON fetch": "tools on",
		"drop": "", "tools": "", "tools off": "", "tools off the web": "", "drop " + strings.Repeat("x", 300): "", "recap": "recap",
		"stop it": "", "please stop": "", "": "", "help!": "", "forget about it": "", "stop stop": "",
		"allow 1h": "allow", "allow": "", "revoke 2": "revoke", "revoke it": "", "revoke 1 2": "",
	} {
		if word, _, ok := Parse(text); word != want || ok != (want != "") {
			t.Errorf("Parse(%q) = %q, %v; want %q", text, word, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Stop")
	f.Add("forget\u00a0")
	f.Fuzz(func(t *testing.T, text string) {
		word, arg, ok := Parse(text)
		if ok && arg == "" && !strings.EqualFold(word, strings.TrimSpace(text)) {
			t.Errorf("Parse(%q) = %q: a command out of more than the word", text, word)
		}
		takes := func(w Word) bool { return w.Name == word && w.Takes != Nothing }
		if ok && arg != "" && !slices.ContainsFunc(Table, takes) {
			t.Errorf("Parse(%q) = %q, %q: that word takes nothing", text, word, arg)
		}
	})
}
