package layout

import (
	"slices"
	"sync"
	"time"

	"nod/adapters/slack/api"
)

// Shapes remembers which forms of a message the workspace does not take, so that
// each message of that kind is not refused first. What a form is refused for
// besides, such as its length, says nothing about the next one.
type Shapes struct {
	Now func() time.Time
	mu  sync.Mutex
	Not map[string]time.Time // shape → when it was refused
}

// unshapely are the words of refusals that are about the kind of a block.
var unshapely = []string{
	"feature_disabled", "not_authorized", "unknown_method", "not_allowed_token_type", "missing_scope", "not_agent_app",
	"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "block_mismatch",
}

// shapeStays is for how long a form is not tried again: Slack learns new ones.
const shapeStays = 6 * time.Hour

// Refused notes a refusal of a form.
func (s *Shapes) Refused(f Form, err error) {
	if f.Shape == "" || !slices.Contains(unshapely, api.Code(err)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Not[f.Shape] = s.Now()
}

// Refuses says whether the workspace does not take a shape.
func (s *Shapes) Refuses(shape string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, refused := s.Not[shape]
	return refused && s.Now().Sub(at) <= shapeStays
}

// Taken leaves out the forms that the workspace does not take; never the last.
func (s *Shapes) Taken(forms Part) Part {
	for forms[0].Shape != "" && s.Refuses(forms[0].Shape) && len(forms.Plainer()) > 0 {
		forms = forms.Plainer()
	}
	return forms
}
