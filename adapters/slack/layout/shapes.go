package layout

import (
	"slices"
	"sync"
	"time"

	"nod/adapters/slack/api"
)

// Shapes remembers which forms of a message the workspace does not take, so that each
// message of that kind is not refused first. A refusal is about one message, or one
// channel, until it can't be: one odd text must not take the buttons from everybody.
type Shapes struct {
	Now   func() time.Time
	mu    sync.Mutex
	not   map[string]time.Time       // shape → when it turned out that the workspace does not take it
	taken map[string]bool            // shapes that it took
	odd   map[string]map[string]bool // shape → for what it was refused
}

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
	// keptOdd is of how many messages it is remembered.
	keptOdd = 1000
)

// Refused notes a refusal of a form, for a message or a place.
func (s *Shapes) Refused(f Form, of string, err error) {
	code := api.Code(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Shape == "":
		return
	case slices.Contains(unknown, code):
	case slices.Contains(notHere, code) && !s.taken[f.Shape]:
	case slices.Contains(oddly, code):
		odd := s.odd[f.Shape]
		if odd == nil || len(odd) >= keptOdd {
			odd = map[string]bool{}
			s.odd = with(s.odd, f.Shape, odd)
		}
		if odd[of] = true; s.taken[f.Shape] || len(odd) < mostOdd {
			return
		}
	default:
		return
	}
	s.not = with(s.not, f.Shape, s.Now())
}

// with is a map with one more entry; it may be nil before.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// Took notes that the workspace took a form.
func (s *Shapes) Took(f Form) {
	if f.Shape == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = with(s.taken, f.Shape, true)
}

// Refuses says whether the workspace does not take a shape.
func (s *Shapes) Refuses(shape string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, refused := s.not[shape]
	return refused && s.Now().Sub(at) <= shapeStays
}

// Taken leaves out the forms that the workspace does not take, or did not for this message;
// never the last.
func (s *Shapes) Taken(forms Part, of string) Part {
	for forms[0].Shape != "" && len(forms) > 1 && (s.Refuses(forms[0].Shape) || s.isOdd(forms[0].Shape, of)) {
		forms = forms[1:]
	}
	return forms
}

func (s *Shapes) isOdd(shape, of string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.odd[shape][of]
}
