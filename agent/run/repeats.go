package run

import (
	"fmt"
	"reflect"
	"strings"

	"nod/agent/do"
	"nod/memory"
)

// mostAlike is how often in a row entries about the same thing may be recorded. A rule
// whose entries don't change what it tests would record for ever.
const mostAlike = 8

// repeats counts how often in a row the same was to be recorded.
type repeats struct {
	of string
	n  int
}

// tooMany counts an action, and says whether it is a Record that came too often.
func (r *repeats) tooMany(act do.Action) bool {
	rec, ok := act.(do.Record)
	if !ok {
		*r = repeats{}
		return false
	}
	if of := subjects(rec.Bodies); of != r.of {
		*r = repeats{of: of}
	}
	r.n++
	return r.n > mostAlike
}

// subjects names the kinds of entries and the things that they are about. Numbers that
// count up, such as that of an approval, are not part of it.
func subjects(bodies []memory.Body) string {
	var out strings.Builder
	for _, b := range bodies {
		out.WriteString(b.Kind())
		for _, name := range []string{"Turn", "Call", "Key", "Grant", "Reaction", "Request", "Message", "Name"} {
			if f := reflect.Indirect(reflect.ValueOf(b)).FieldByName(name); f.IsValid() {
				fmt.Fprintf(&out, " %v", f.Interface())
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// standStill ends a turn whose rules record for ever. Where no turn is to blame the
// thread waits for its next entry.
func (d *driver) standStill() error {
	if d.repeats.n == mostAlike+1 {
		d.Log.Error("the same was recorded again and again; the turn is given up", "thread", d.thread.String(), "entries", d.repeats.of)
	}
	if bodies := d.Agent.GiveUp(d.log); len(bodies) > 0 {
		d.repeats = repeats{}
		return d.commit(bodies...)
	}
	return d.rest(do.Wait{})
}
