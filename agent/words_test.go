package agent

import (
	"strings"
	"testing"
	"time"

	"nod/agent/do"
	"nod/agent/speak"
	"nod/chat"
	"nod/chat/vocabulary"
	"nod/memory"
)

// Every word of the table is answered by something of its own. A word that reply does not
// know would get help.
func TestEveryWordIsAnswered(t *testing.T) {
	a := &Agent{Protocol: speak.NativeTools{}, MaxSteps: 1, Count: func(s string) int { return len(s) }}
	answered := 0
	for _, w := range vocabulary.Table {
		text := w.Name + map[vocabulary.Takes]string{vocabulary.File: " a.csv", vocabulary.Tool: " clock", vocabulary.Number: " 1", vocabulary.Terms: " 1h"}[w.Takes]
		act := a.Next(NewLog([]memory.Entry{{
			Seq: 1, At: time.Unix(1, 0), Body: memory.Message{Message: chat.Message{From: chat.User{ID: "ada"}, Text: text}},
		}}, Claim{}))
		p, ok := act.(do.Post)
		if !ok || w.Name == "" {
			continue
		}
		answered++
		if strings.HasPrefix(p.Post.Text.Markdown, "I answer questions") != (w.Name == "help") {
			t.Errorf("%s is answered by help", text)
		}
	}
	if answered < 10 {
		t.Errorf("%d words are answered", answered)
	}
}
