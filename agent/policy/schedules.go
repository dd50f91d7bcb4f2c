package policy

import (
	"time"

	"nod/chat/when"
)

// Schedules bounds what people may have asked later; the zero one lets them have nothing.
type Schedules struct {
	Thread  int           // how many a thread may have
	Person  int           // how many a person may have, in all threads of a platform
	Least   time.Duration // between two times
	Late    time.Duration // a time that repeats is skipped when it is later than that
	Timeout time.Duration // of an approval in its turns, where the tool names none
}

// Shortest says which repetition is the shortest.
func (s Schedules) Shortest() string { return "the shortest is every " + when.Span(s.Least) }
