package memory

// LastSeq is the Seq of the last entry; 0 when there is none.
func LastSeq(log []Entry) uint64 {
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1].Seq
}

// Since returns the entries from a Seq on.
func Since(log []Entry, seq uint64) []Entry {
	for i, e := range log {
		if e.Seq >= seq {
			return log[i:]
		}
	}
	return nil
}
