package layout

import (
	"strconv"
	"testing"
	"time"

	"nod/adapters/slack/api"
)

// An odd message, or one channel without the bot, does not take a form from everybody; the
// same refusals of a form that was never taken do.
func TestShapes(t *testing.T) {
	t.Parallel()
	f := Form{Shape: "steps"}
	refuse := func(s *Shapes, code string, times int) {
		for i := range times {
			s.Refused(f, strconv.Itoa(i), &api.Error{Code: code})
		}
	}
	for name, c := range map[string]struct {
		took  bool
		code  string
		times int
		want  bool // the workspace is taken for one that refuses
	}{
		"one odd message":                {false, "invalid_blocks", 1, false},
		"odd messages, never taken":      {false, "invalid_arguments", mostOdd, true},
		"odd messages of a known form":   {true, "invalid_arguments", 5, false},
		"one channel":                    {true, "not_authorized", 5, false},
		"an app that is no agent":        {false, "not_authorized", 1, true},
		"switched off for the workspace": {true, "feature_disabled", 1, true},
		"too long":                       {false, "msg_too_long", 9, false},
	} {
		s := &Shapes{Now: time.Now}
		if c.took {
			s.Took(f)
		}
		refuse(s, c.code, c.times)
		if got := s.Refuses("steps"); got != c.want {
			t.Errorf("%s: refused %v, want %v", name, got, c.want)
		}
	}
	s := &Shapes{Now: time.Now}
	s.Refused(f, "a", &api.Error{Code: "invalid_blocks"})
	forms := Part{f, {Text: "plain"}}
	if s.Taken(forms, "a")[0].Shape != "" || s.Taken(forms, "b")[0].Shape != "steps" {
		t.Error("the odd message is refused each time, or another one loses its form")
	}
}
