package chat

import (
	"errors"
	"fmt"
	"net/url"
)

// Refused is an adapter's error for a post that the platform takes in no form. Another
// try is of no use, but another post may succeed.
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

// WithoutAddress takes the address out of an error of a transport: addresses of files, calls
// and sockets hold secrets.
func WithoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
