package words

import (
	"fmt"
	"strings"
	"time"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/memory"
)

// HeldBack tells people which incidents of a channel were held back.
func HeldBack(all []memory.Incident, now time.Time) string {
	if len(all) == 0 {
		return "No alert of this channel is held back."
	}
	text := fmt.Sprintf("%d incidents are held back, the oldest first:\n", len(all))
	if len(all) == 1 {
		text = "One incident is held back:\n"
	}
	for _, i := range all {
		text += fmt.Sprintf("\n- %s, for %s", phrase.Code(i.Key), phrase.Long(now.Sub(i.First)))
		if i.Times > 0 {
			text += fmt.Sprintf(", again × %d", i.Times)
		}
	}
	return text
}

// Incident is the line of an incident; "" where its turn says all.
func Incident(i *thread.Incident) string {
	var parts []string
	switch {
	case i.Waits():
		parts = append(parts, "held back: this hour has no room for another turn. It begins when there is, unless it is resolved by then")
	case i.As == memory.AlertHeld:
		parts = append(parts, "was held back")
	case i.As == memory.AlertLate:
		parts = append(parts, "found late, after a gap, so I did not look into it. Mention me if it still matters")
	}
	if i.Times > 0 {
		parts = append(parts, fmt.Sprintf("again × %d", i.Times))
	}
	if i.Over {
		parts = append(parts, "resolved")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Alert " + i.Name + ": " + strings.Join(parts, " · ")
}
