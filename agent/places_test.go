package agent_test

import (
	"testing"

	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// A change while the card is on the way to another place is shown there once, and
// redrawn. A vote on that card before it shows the change approves nothing.
func TestChangedOnTheWay(t *testing.T) {
	rules := anyone
	rules.Channels = []string{"ops"}
	tool := newTool("deploy", policy.Ask, rules)
	s := newSim(asking(tool))
	s.model = callsOnce("deploy")
	next := func() {
		for {
			act := s.agent.Next(s.log())
			if _, ok := act.(do.Wait); ok {
				return
			}
			s.perform(act)
		}
	}
	onTheWay := func() (keys []string) {
		for _, act := range s.agent.Beside(s.log()) {
			if c, ok := act.(do.Copy); ok {
				keys = append(keys, c.Post.Key)
			}
		}
		return keys
	}

	s.says("ada", "deploy")
	next()
	before := onTheWay()
	s.says("ada", `edit 1 {"to":"a"}`)
	next()
	if after := onTheWay(); len(before) != 1 || len(after) != 1 || before[0] != after[0] {
		t.Fatalf("on the way are %q, and %q once the call was changed; want one card", before, after)
	}

	card := chat.MessageRef{Platform: "sim", Channel: "ops", ID: "1"}
	s.add(memory.Posted{Key: before[0], Ref: card})
	approve := func() {
		s.add(memory.Reaction{Reaction: chat.Reaction{On: card, By: chat.User{ID: "ben", Name: "ben"}, Emoji: "✅"}})
		next()
	}
	approve()
	if n := s.kinds("decided"); n != 0 {
		t.Error("somebody approved by a card that does not show what would run")
	}
	redrawn := false
	for _, act := range s.agent.Beside(s.log()) {
		if e, ok := act.(do.Edit); ok && e.Ref == card {
			redrawn = true
			s.perform(e)
		}
	}
	if !redrawn {
		t.Fatal("the card is not redrawn")
	}
	if approve(); s.kinds("decided") != 1 {
		t.Error("an approval by the card that was redrawn does not count")
	}
}
