package memory

// Soon says whether it is enough that what a run commits is on the disk a while
// later: a power cut until then loses nothing but what the next process does
// again without anybody noticing. It asks the model or reads once more, or finds
// on the platform what was posted. Nothing that leaves the program may rest on
// such a commit alone: before an answer or a card is posted, and before a side
// effect begins, an entry is committed that is not of these kinds.
func Soon(log []Entry, bodies ...Body) bool {
	for _, b := range bodies {
		switch b := b.(type) {
		case Posted, Seen, Ended:
		case Step:
			if len(b.Calls) == 0 {
				return false
			}
		case Result:
			if began(log, b.Call) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// began says whether a call is a side effect that began.
func began(log []Entry, call string) bool {
	for i := len(log) - 1; i >= 0; i-- {
		switch b := log[i].Body.(type) {
		case Started:
			if b.Call == call {
				return true
			}
		case Opened:
			return false // no call is older than its turn
		}
	}
	return false
}
