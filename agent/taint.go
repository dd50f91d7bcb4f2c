package agent

import (
	"cmp"
	"fmt"
	"time"
)

// sinceWords says since when and by what a thread is tainted, for the word memory.
func (d *decision) sinceWords() string {
	if !d.a.Taint {
		return ""
	}
	taint := d.taint().OfPrompt(d.s.Trim)
	if taint.Source == "" {
		return ""
	}
	at := ""
	if !taint.Since.IsZero() {
		at = " since " + taint.Since.In(cmp.Or(d.a.Zone, time.UTC)).Format("2 January 2006, 15:04 MST")
	}
	return fmt.Sprintf("\n\n**Content from outside**%s: %s. So whatever can change something or send something out asks here.", at, taint.Source)
}
