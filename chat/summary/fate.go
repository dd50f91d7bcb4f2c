package summary

import (
	"fmt"
	"strings"

	"nod/chat"
)

// Mark is the sign of a turn that is over: ✓ where it went well, ✕ where it or all of its
// calls failed, ⊘ where it was stopped, or people let none of its calls run.
func Mark(s *chat.Steps) string {
	states := statesOf(s)
	all := 0
	for _, n := range states {
		all += n
	}
	switch {
	case s.Status == "Stopped":
		return "⊘"
	case s.Status == "Failed":
		return "✕"
	case all == 0 || states[chat.CallDone] > 0:
		return "✓"
	case states[chat.CallFailed]+states[chat.CallUnknown] > 0:
		return "✕"
	}
	return "⊘"
}

// Troubles says how many calls of a turn failed; "" where none did.
func Troubles(s *chat.Steps) string {
	states := statesOf(s)
	var out []string
	for _, state := range []chat.CallState{chat.CallFailed, chat.CallUnknown} {
		if n := states[state]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(out, ", ")
}

// statesOf counts the calls of a turn by their state.
func statesOf(s *chat.Steps) map[chat.CallState]int {
	out := map[chat.CallState]int{}
	for _, item := range s.Items {
		for _, c := range item.Calls {
			out[c.State]++
		}
	}
	return out
}
