package memory

import (
	"encoding/json"
	"fmt"
)

// skipped are the kinds that an older build may skip: they concern only looks,
// opinions, memberships, reminders, or the store's losses.
var skipped = map[string]bool{"due": true, "seen": true, "feedback": true, "lost": true, "erased": true, "belongs": true, "reminded": true, "notified": true}

// decoders holds the decoder of every kind. Adding a kind means a type and a line here.
var decoders = map[string]func(json.RawMessage) (Body, error){
	"message": decode[Message], "edited": decode[Edited], "deleted": decode[Deleted],
	"reaction": decode[Reaction], "due": decode[Due], "halt": decode[Halt], "left": decode[Left], "reason": decode[Reason],
	"change": decode[Change], "changed": decode[Changed], "order": decode[Order], "ran": decode[Ran], "previewed": decode[Previewed],
	"feedback": decode[Feedback],
	"opened":   decode[Opened], "step": decode[Step], "result": decode[Result],
	"started": decode[Started], "posted": decode[Posted], "seen": decode[Seen],
	"stopped": decode[Stopped], "failed": decode[Failed], "ended": decode[Ended],
	"asked": decode[Asked], "vote": decode[Vote], "decided": decode[Decided],
	"trimmed": decode[Trimmed], "forgot": decode[Forgot], "erased": decode[Erased], "lost": decode[Lost], "restored": decode[Restored],
	"reminded": decode[Reminded], "escalated": decode[Escalated], "notified": decode[Notified],
	"granted": decode[Granted], "used": decode[Used], "revoked": decode[Revoked],
	"scheduled": decode[Scheduled], "slot": decode[Slot], "unscheduled": decode[Unscheduled], "fact": decode[Remembered], "facts": decode[Recalled],
	"belongs": decode[Belongs], "question": decode[Question], "answered": decode[Answered], "held": decode[Held],
	"incidents": decode[Incidents],
}

func decode[T Body](raw json.RawMessage) (Body, error) {
	var b T
	err := json.Unmarshal(raw, &b)
	return b, err
}

// version is the version of every body's encoding. A reader takes an entry of a higher
// version for an [Unknown].
const version = 1

// wire is the JSON form of an entry, its envelope. Seq and At are the store's to
// keep.
type wire struct {
	Kind    string          `json:"k"`
	Version int             `json:"v"`
	Skip    bool            `json:"s,omitempty"` // a reader that does not know the kind may go on
	Body    json.RawMessage `json:"b"`
}

// Encode gives the stored JSON of a body.
func Encode(b Body) ([]byte, error) {
	switch b := b.(type) {
	case Unknown:
		return b.Raw, nil
	case Broken:
		return b.Raw, nil
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", b.Kind(), err)
	}
	return json.Marshal(wire{b.Kind(), version, skipped[b.Kind()], raw})
}

// Decode reads the output of Encode, of this version or another. An unreadable entry is
// a [Broken], so it concerns nothing else.
func Decode(data []byte) Body {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil || w.Kind == "" {
		return broken(data, "envelope", err)
	}
	read, ok := decoders[w.Kind]
	if !ok || w.Version > version {
		return Unknown{Name: w.Kind, Skip: w.Skip, Raw: append(json.RawMessage(nil), data...)}
	}
	b, err := read(w.Body)
	if err != nil {
		return broken(data, w.Kind, err)
	}
	return b
}

func broken(data []byte, what string, err error) Broken {
	reason := "it names no kind"
	if err != nil {
		reason = err.Error()
	}
	return Broken{Raw: append([]byte(nil), data...), Err: "decode " + what + ": " + reason}
}
