package agent_test

import (
	"testing"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// A message after the time for an answer is no reply, also in the moment before the log
// says so: the waiting process does not take it.
func TestReplyInTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		reply bool
	}{
		"just in time":      {chat.AnswerWithin - time.Nanosecond, true},
		"as the time ends":  {chat.AnswerWithin, false},
		"after it has gone": {chat.AnswerWithin + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := entriesOf(
				from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")),
				memory.Started{Call: "d", Tool: "deploy"}, memory.Question{ID: "q", Call: "d", Asks: chat.Question{From: "ops", Text: "Sure?"}},
				memory.Posted{Key: memory.PostKey("question/q", "Sure?"), Ref: ref("asks")},
			)
			asked := entries[4].At
			entries = append(entries, memory.Entry{Seq: 7, At: asked.Add(tt.after), Body: from("ada", "yes")})
			log := agent.NewLog(entries, agent.Claim{})
			if b, ok := log.Thread.Reply("q"); ok != tt.reply || ok && (b.Message != 7 || b.Answer.How != chat.Accepted) {
				t.Errorf("a reply: %t, %+v", ok, b)
			}
		})
	}
}

// The steps say which call waits for an answer, and of whom it comes: from the moment
// in which the question stands until it is answered.
func TestStepsSayWhoInquires(t *testing.T) {
	t.Parallel()
	entries := entriesOf(
		from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")),
		memory.Started{Call: "d", Tool: "deploy"}, memory.Question{ID: "q", Call: "d", Asks: chat.Question{From: "ops", Text: "Sure?"}},
		memory.Posted{Key: memory.PostKey("question/q", "Sure?"), Ref: ref("asks")},
		from("ada", "yes"), memory.Answered{Question: "q", Message: 7, Answer: chat.Answer{How: chat.Accepted}},
	)
	for n, want := range map[int]string{5: "", 6: "ops", 7: "ops", 8: ""} {
		p, _, _, ok := (&agent.Agent{}).StepsPost(agent.NewLog(entries[:n], agent.Claim{}))
		if !ok || p.Steps.Items[0].Calls[0].Inquirer != want {
			t.Errorf("after %d entries: %+v, want %q", n, p.Steps, want)
		}
	}
}
