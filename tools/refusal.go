package tools

import (
	"errors"
	"fmt"
	"net"
)

// Refusal is something that a tool will not or can't do (open an address, read a
// file), in words for the model.
type Refusal struct{ words string }

// Error implements error.
func (r *Refusal) Error() string { return r.words }

// Refuse makes a refusal.
func Refuse(format string, a ...any) error { return &Refusal{fmt.Sprintf(format, a...)} }

// OperatorsPart is the error, unless the model alone has to know of it.
func OperatorsPart(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return nil
	}
	return err
}

// Undialled says that there was no connection on which a call could have gone out.
func Undialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
