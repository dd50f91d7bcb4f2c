package layout

import (
	"slices"
	"time"

	"nod/adapters/slack/api"
	"nod/chat/bounded"
)

// Shapes remembers which forms of a message the workspace does not take, so that each
// message of that kind is not refused first. A refusal is about one message, or one
// channel, until it can't be: one odd text must not take the buttons from everybody.
type Shapes struct {
	Now   func() time.Time
	not   bounded.Map[string, time.Time] // when it turned out that the workspace does not take a shape
	taken bounded.Map[string, bool]      // shapes that it took
	odd   bounded.Map[oddity, bool]
	odds  bounded.Map[string, int] // how many of a shape
}

// oddity is a shape that was refused, and for what.
type oddity struct{ shape, of string }

var (
	// unknown are the words of refusals that are about the workspace, or the app.
	unknown = []string{"feature_disabled", "unknown_method", "not_allowed_token_type", "missing_scope", "not_agent_app"}
	// notHere are those that may also be about the one channel, where the bot is no member.
	notHere = []string{"not_authorized"}
	// oddly are those that may also be about the one message.
	oddly = []string{"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "block_mismatch"}
)

const (
	// shapeStays is for how long a form is not tried again: Slack learns new ones.
	shapeStays = 6 * time.Hour
	// mostOdd is how many messages are refused in a shape that the workspace never took
	// until that is about the shape.
	mostOdd = 3
)

// Refused notes a refusal of a form, for a message or a place.
func (s *Shapes) Refused(f Form, of string, err error) {
	code := api.Code(err)
	_, taken := s.taken.Get(f.Shape)
	switch {
	case f.Shape == "":
		return
	case slices.Contains(unknown, code):
	case slices.Contains(notHere, code) && !taken:
	case slices.Contains(oddly, code):
		if s.odd.Add(oddity{f.Shape, of}) {
			s.odds.Swap(f.Shape, func(n int, _ bool) (int, bool) { return n + 1, true })
		}
		if n, _ := s.odds.Get(f.Shape); taken || n < mostOdd {
			return
		}
	default:
		return
	}
	s.not.Put(f.Shape, s.Now())
}

// Took notes that the workspace took a form.
func (s *Shapes) Took(f Form) {
	s.taken.Add(f.Shape)
}

// Refuses says whether the workspace does not take a shape.
func (s *Shapes) Refuses(shape string) bool {
	at, refused := s.not.Get(shape)
	return refused && s.Now().Sub(at) <= shapeStays
}

// Taken leaves out the forms that the workspace does not take, or did not for this message;
// never the last.
func (s *Shapes) Taken(forms Part, of string) Part {
	for len(forms) > 1 {
		if _, odd := s.odd.Get(oddity{forms[0].Shape, of}); !odd && !s.Refuses(forms[0].Shape) {
			break
		}
		forms = forms[1:]
	}
	return forms
}
