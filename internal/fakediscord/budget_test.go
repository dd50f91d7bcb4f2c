package fakediscord_test

import (
	"testing"
	"time"

	"nod/internal/fakediscord"
)

// A bot that begins more sessions than it has left loses the token and the sessions.
func TestSessionBudget(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	s.AllowIdentifies(1, time.Hour)
	first, _ := connect(t, s.Server, basic, nil)
	before := s.Token()
	second := dial(t, s.Server, "v=10&encoding=json")
	second.send(identify(basic, nil))
	if a, b := first.closed(), second.closed(); a != 4004 || b != 4004 {
		t.Errorf("closed with %d and %d, want 4004", a, b)
	}
	if s.Token() == before {
		t.Error("the token is what it was")
	}
}

// A session that nobody answers is begun as soon as somebody does.
func TestIgnoredIdentify(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	s.IgnoreIdentifies(true)
	k := dial(t, s.Server, "v=10&encoding=json")
	k.send(identify(basic, nil))
	until(t, s.Server, "it asks", func() bool { return s.Gateway().Unanswered == 1 })
	k.send(fields{"op": 1, "d": nil})
	k.next(11)
	s.IgnoreIdentifies(false)
	if f := k.event("READY"); f.T != "READY" || s.Gateway().Identifies != 1 {
		t.Errorf("it got %+v, %+v", f, s.Gateway())
	}
}
