package chat

import (
	"fmt"
	"strings"
	"time"
)

// Change asks, from a form, that a call that waits for approval run with other
// arguments.
type Change struct {
	Call   string
	By     User
	Args   string // a JSON object
	Digest string // how that of the [Approval] begins with which the form was filled
}

// Again is a call of a finished turn, for a form in which a person edits its arguments
// and runs it again. The form's result is a [Change] of that call.
type Again struct {
	Call       string
	Tool       string
	Args       string // exact, JSON
	Parameters string // as in [Approval]
	Number     int    // among the calls of its turn, as in the word `run 2 {…}`
}

// GrantLabel is the label of the button that approves a call, and the same call again
// for a while.
func (a *Approval) GrantLabel() string { return "Approve, and for " + long(a.Grant, " ") }

// GrantWord is the word for the same; "" if nothing can be allowed.
func (a *Approval) GrantWord() string {
	if a.Grant <= 0 {
		return ""
	}
	return fmt.Sprintf("allow %d %s", a.Number, long(a.Grant, ""))
}

// long writes a duration in words, with a separator between number and unit.
func long(d time.Duration, between string) string {
	units := []struct {
		of          time.Duration
		short, name string
	}{{time.Hour, "h", "h"}, {time.Minute, "m", "min"}, {time.Second, "s", "s"}}
	var out []string
	for _, u := range units {
		name := u.name
		if between == "" {
			name = u.short // as Go reads it
		}
		if n := d / u.of; n > 0 {
			out = append(out, fmt.Sprintf("%d%s%s", n, between, name))
		}
		d %= u.of
	}
	return strings.Join(out, between)
}
