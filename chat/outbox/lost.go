package outbox

import (
	"errors"
	"fmt"
	"net"

	"nod/chat"
)

// Lost is a failure after which it is not known whether a call took effect.
type Lost struct {
	Call string
	Err  error
}

func (e *Lost) Error() string { return e.Call + ": outcome unknown: " + e.Err.Error() }
func (e *Lost) Unwrap() error { return e.Err }

// IsLost says whether it is not known if a call took effect.
func IsLost(err error) bool { var l *Lost; return errors.As(err, &l) }

// AsLost judges a failure of the transport. A call that failed to connect was not
// sent; of any other it can't be known. It names no address.
func AsLost(call string, err error) error {
	err = chat.WithoutAddress(err)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%s: %w", call, err)
	}
	return &Lost{call, err}
}
