package slack

import (
	"slices"
	"sync"
	"time"

	"nod/adapters/slack/api"
)

// shapes remembers which forms of a message the workspace does not take, so that
// each message of that kind is not refused first. What a form is refused for
// besides, such as its length, says nothing about the next one.
type shapes struct {
	now func() time.Time
	mu  sync.Mutex
	not map[string]time.Time // shape → when it was refused
}

// unshapely are the words of refusals that are about the kind of a block.
var unshapely = []string{
	"feature_disabled", "not_authorized", "unknown_method", "not_allowed_token_type", "missing_scope", "not_agent_app",
	"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "block_mismatch",
}

// shapeStays is for how long a form is not tried again: Slack learns new ones.
const shapeStays = 6 * time.Hour

// refused notes a refusal of a form.
func (s *shapes) refused(f form, err error) {
	if f.shape == "" || !slices.Contains(unshapely, api.Code(err)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.not[f.shape] = s.now()
}

// refuses says whether the workspace does not take a shape.
func (s *shapes) refuses(shape string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, refused := s.not[shape]
	return refused && s.now().Sub(at) <= shapeStays
}

// taken leaves out the forms that the workspace does not take; never the last.
func (s *shapes) taken(forms part) part {
	for forms[0].shape != "" && s.refuses(forms[0].shape) && len(forms.plainer()) > 0 {
		forms = forms.plainer()
	}
	return forms
}
