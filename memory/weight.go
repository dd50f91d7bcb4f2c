package memory

// BareKept is the assumed size of a Run's Kept, in bytes an entry. Its texts are
// shared with the log.
const BareKept = 256

// Weigh estimates the bytes of a log in memory: its texts, and a fixed size for each
// entry.
func Weigh(log []Entry) int {
	const bare = 256
	size := bare * len(log)
	for _, e := range log {
		switch b := e.Body.(type) {
		case Message:
			size += len(b.Text) + len(b.Ref.Channel) + bare*len(b.Files)
		case Edited:
			size += len(b.Text)
		case Step:
			size += len(b.Thought) + len(b.Answer)
			for _, c := range b.Calls {
				size += bare + len(c.Args)
			}
		case Ran:
			size += bare + len(b.Call.Args)
		case Previewed:
			size += bare + len(b.Text)
		case Result:
			size += len(b.Text) + bare*len(b.Artifacts)
		case Question:
			size += len(b.Asks.Text) + len(b.Asks.Schema)
		case Held:
			size += len(b.Handle.Key) + bare*len(b.Handle.Asks)
		case Answered:
			size += len(b.Answer.Text) + len(b.Answer.Values)
		case Trimmed:
			size += len(b.Summary) + len(b.Recap) + bare*(len(b.Files)+len(b.People)+len(b.Stubs))
		case Unknown:
			size += len(b.Raw)
		case Broken:
			size += len(b.Raw)
		}
	}
	return size
}
