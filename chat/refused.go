package chat

import "fmt"

// Refused is what an adapter returns for a post that the platform will not take
// in any form that there is: trying again is of no use, but something else may
// still be said there.
type Refused struct {
	Platform string // as people call it: Slack, Discord
	Code     string // the platform's own
	Words    string // the platform's own, where it has some
}

// Error says it for the operator.
func (r Refused) Error() string { return r.Notice() }

// Notice says it for people.
func (r Refused) Notice() string {
	if r.Words == "" {
		return fmt.Sprintf("%s refused my answer (%s)", r.Platform, r.Code)
	}
	return fmt.Sprintf("%s refused my answer (%s: %s)", r.Platform, r.Code, r.Words)
}
