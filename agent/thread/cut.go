package thread

import (
	"maps"
	"slices"

	"nod/memory"
)

// mostHeld is how many artifacts outlive the turns that they came with.
const mostHeld = 50

// keepFiles says what a cut keeps of the turns that it leaves out.
func (s *Thread) keepFiles(cut *memory.Trimmed) {
	cut.Files, cut.Off = nil, s.OffList()
	for _, a := range s.Artifacts {
		if a.seq < cut.Before && !a.Gone() {
			cut.Files = append(cut.Files, a.File)
		}
	}
	cut.Files = cut.Files[max(0, len(cut.Files)-mostHeld):]
}

// Carry lets a cut keep what stands for still older turns.
func (s *Thread) Carry(cut *memory.Trimmed) {
	cut.Horizon = s.Span.Horizon
	s.KeepFolk(cut)
	cut.Summary, cut.Recap, cut.Recalled, cut.Outside, cut.Since = s.Trim.Summary, s.Trim.Recap, s.Recalled, s.Trim.Outside, s.Trim.Since
	s.keepFiles(cut)
}

// KeepFolk lets a cut keep who is here, and what they settled.
func (s *Thread) KeepFolk(cut *memory.Trimmed) {
	cut.People, cut.Callers = slices.Sorted(maps.Keys(s.Folk.People)), s.Folk.Callers
	cut.Grants = s.carriedGrants()
	cut.Muted, cut.Asks, cut.Heard = s.Folk.Muted, s.Approvals.Asks, s.Span.Last
}

func (s *Thread) Renew(cut *memory.Trimmed) {
	s.KeepFolk(cut)
	cut.Off = s.OffList()
	cut.Files = slices.DeleteFunc(slices.Clone(cut.Files), s.IsDropped)
	cut.Recalled = cut.Recalled || s.Recalled && cut.Recap == s.Trim.Recap
}
