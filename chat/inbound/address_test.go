package inbound

import (
	"regexp"
	"testing"
)

var mention = regexp.MustCompile(`<@(\w+)>`)

func me(id string) bool { return id == "BOT" }

func TestUncalled(t *testing.T) {
	for text, want := range map[string]string{
		"<@BOT> why?":                 "why?",
		" <@BOT>: why? ":              "why?",
		"<@BOT>, <@BOT> why?<@BOT>":   "why?",
		"why? <@BOT> <@BOT> ":         "why?",
		"why, <@BOT>, why?":           "why, <@BOT>, why?",
		"<@ADA> and <@BOT> why?":      "<@ADA> and <@BOT> why?",
		"why? <@BOT> <@ADA>":          "why? <@BOT> <@ADA>",
		"why? <@ADA> <@BOT>":          "why? <@ADA>",
		"<@BOT>":                      "",
		"":                            "",
		"<@ADA>":                      "<@ADA>",
		"<@BOT>\u00a0why? (<@BOT>)":   "why? (<@BOT>)",
		"<@BOT> <@ADA> why? \n<@BOT>": "<@ADA> why?",
	} {
		if got := Uncalled(text, mention, me); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Cutting twice is cutting once.
func FuzzUncalled(f *testing.F) {
	f.Add("<@BOT> hi <@BOT>")
	f.Add("<@BOT><@<@BOT>")
	f.Fuzz(func(t *testing.T, text string) {
		once := Uncalled(text, mention, me)
		if again := Uncalled(once, mention, me); again != once {
			t.Errorf("%q becomes %q, and then %q", text, once, again)
		}
	})
}

func TestIsStop(t *testing.T) {
	for text, want := range map[string]bool{"stop": true, " Stop\n": true, "STOP": true, "stop it": false, "": false} {
		if IsStop(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
