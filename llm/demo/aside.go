package demo

import (
	"strings"

	"nod/llm"
)

// Strategies ask for more than answers: a plan, a check. The demo recognises such an
// order by its first words, at the end of the last message.
var asides = map[string]string{
	"Write a plan for answering":    "1. Find the tool that fits what was asked.\n2. Call it, and read out what it says.",
	"Check the last answer against": "PASS",
	"The person was not satisfied":  "I can only do what my script says; I will do it once more.",
	"Write down what was said":      "People tried the demo, which called its tools for them.",
}

// aside answers such an order; ok is false for anything else.
func aside(msgs []llm.Message) (text string, ok bool) {
	if len(msgs) == 0 {
		return "", false
	}
	last := msgs[len(msgs)-1].Text
	for order, text := range asides {
		if strings.HasPrefix(last, order) || strings.Contains(last, "\n\n"+order) {
			return text, true
		}
	}
	return "", false
}

// note says whether a message is nod's own, and no person's.
func note(m llm.Message) bool { return strings.HasPrefix(m.Text, "[") }
