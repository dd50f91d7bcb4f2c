package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// AuditLine is one line of the audit log: a decision with its rules, an ignored
// reaction with the reason, a side effect, or an outcome. It holds digests and ids; its
// only text is a reason. In a store it holds pseudonyms instead ([Keys.Hide]).
//
// The lines of a thread are a chain: each holds the hash of the line before. So
// changing, removing or inserting a line means rewriting all that follow. No command
// erases one.
type AuditLine struct {
	V       int           `json:"v"`
	Thread  chat.ThreadID `json:"thread"`
	Seq     uint64        `json:"seq"` // counts the lines of the thread, from 1
	At      time.Time     `json:"at"`
	Event   string        `json:"event"` // asked, vote, ignored, edited, decided, started, result, granted, used, revoked, scheduled, alert, fact, forgot, erased, lost
	Call    string        `json:"call,omitempty"`
	Tool    string        `json:"tool,omitempty"`
	Digest  string        `json:"digest,omitempty"`
	By      []chat.UserID `json:"by,omitempty"`
	Verdict string        `json:"verdict,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Rules   *AuditRules   `json:"rules,omitempty"`
	Prev    string        `json:"prev"` // the hash of the thread's last line; empty at first
	Hash    string        `json:"hash,omitempty"`
}

// AuditRules are the rules in force for a line.
type AuditRules struct {
	Approvers []string `json:"approvers,omitempty"`
	Quorum    int      `json:"quorum,omitempty"`
	// ExcludeRequester says who may not approve: false, nobody is excluded; true, the authors
	// of the turn's messages; "thread", the authors of all messages in the prompt.
	ExcludeRequester any    `json:"exclude_requester"`
	Grant            string `json:"grant,omitempty"` // the allowed time or number of uses
}

// Tombstone is the last line of a thread that was erased for its age. A thread without
// a chain gets none.
func Tombstone(thread chat.ThreadID, at time.Time) AuditLine {
	return AuditLine{Thread: thread, At: at, Event: "forgot", Outcome: "kept no longer"}
}

// auditVersion is the version of a line's form.
const auditVersion = 1

// Head is the end of a thread's chain.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// String is the stored form of a head; empty for no chain.
func (h Head) String() string {
	if h.Seq == 0 {
		return ""
	}
	return strconv.FormatUint(h.Seq, 10) + " " + h.Hash
}

// ParseHead reads the output of String.
func ParseHead(s string) (Head, error) {
	if s == "" {
		return Head{}, nil
	}
	seq, hash, ok := strings.Cut(s, " ")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || !ok || n == 0 {
		return Head{}, fmt.Errorf("read the end of a chain: %q is none", s)
	}
	return Head{n, hash}, nil
}

// Link appends a line to a chain, and gives its stored form. Times are cut to the
// millisecond, as every store keeps them.
func (h Head) Link(l AuditLine) (raw []byte, next Head, err error) {
	l.V, l.Seq, l.Prev, l.Hash = auditVersion, h.Seq+1, h.Hash, ""
	l.At = l.At.UTC().Truncate(time.Millisecond)
	l.Reason = strings.ToValidUTF8(l.Reason, "\uFFFD")
	plain, err := json.Marshal(l)
	if err == nil {
		plain, err = Canonical(plain)
	}
	if err != nil {
		return nil, h, fmt.Errorf("write a line of the audit log: %w", err)
	}
	l.Hash = hashOf(plain)
	// In this form it stands behind the event, which no other member can look like.
	before, after, _ := bytes.Cut(plain, []byte(`"event":"`+l.Event+`"`))
	raw = slices.Concat(before, []byte(`"event":"`+l.Event+`","hash":"`+l.Hash+`"`), after)
	return raw, Head{l.Seq, l.Hash}, nil
}

func hashOf(plain []byte) string {
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:])
}

// DecodeLine reads a stored line, sound or not.
func DecodeLine(raw []byte) (l AuditLine, err error) { return l, json.Unmarshal(raw, &l) }

// ReadLine reads a stored line, and says whether it is unchanged.
func ReadLine(raw []byte) (l AuditLine, sound bool) {
	l, err := DecodeLine(raw)
	if err != nil {
		return l, false
	}
	form, err := Canonical(raw)
	if err != nil || !bytes.Equal(form, raw) {
		return l, false
	}
	// In this form nothing but a member can look like one.
	before, after, ok := bytes.Cut(raw, []byte(`,"hash":"`+l.Hash+`"`))
	return l, ok && hashOf(append(before[:len(before):len(before)], after...)) == l.Hash
}

// LockedOut is why the vote with a person's fifth wrong code does not count.
const LockedOut = "locked out for 15 minutes after five wrong codes"

// audit gives the line that an entry adds to the audit log.
func audit(thread chat.ThreadID, e Entry) (AuditLine, bool) {
	l := AuditLine{At: e.At, Thread: thread}
	switch b := e.Body.(type) {
	case Asked:
		l.Event, l.Call, l.Tool, l.Digest = "asked", b.Call, b.Tool, b.Digest
		l.By, l.Rules = []chat.UserID{b.Requester.ID}, b.Rules.audited()
	case Vote:
		l.Event, l.Call, l.Verdict, l.Reason = "vote", b.Call, string(b.Verdict), b.Reason
		l.By, l.Rules = []chat.UserID{b.By.ID}, b.Rules.held()
		switch {
		case b.Counts:
		case b.Reason == LockedOut:
			l.Event = "locked"
		default:
			l.Event = "ignored"
		}
	case Changed:
		l.Event, l.Call, l.Digest, l.Reason = "edited", b.Call, b.Digest, cmp.Or(b.Plain, b.Refused)
		l.By = []chat.UserID{b.By.ID}
		if b.Refused != "" {
			l.Event = "ignored"
		}
	case Decided:
		l.Event, l.Call, l.Outcome, l.Reason = "decided", b.Call, string(b.Outcome), b.Reason
		l.By, l.Rules = ids(b.By), b.Rules.held()
	case Started:
		l.Event, l.Call, l.Tool, l.Digest = "started", b.Call, b.Tool, b.Digest
	case Result:
		l.Event, l.Call, l.Tool, l.Outcome = "result", b.Call, b.Tool, string(b.State)
		l.Reason = b.Reason
	case Granted:
		l.Event, l.Tool, l.Digest, l.By, l.Rules = "granted", b.Tool, b.Digest, ids(b.By), b.Rules.audited()
		l.Rules.Grant = fmt.Sprintf("%d: %s, %d times", b.Number, b.For, b.Uses)
	case Used:
		l.Event, l.Call, l.Tool, l.Digest, l.By = "used", b.Call, b.Tool, b.Digest, ids(b.By)
		l.Rules = &AuditRules{ExcludeRequester: false, Grant: strconv.Itoa(b.Grant)}
	case Revoked:
		l.Event, l.Tool, l.Digest, l.By = "revoked", b.Tool, b.Digest, []chat.UserID{b.By.ID}
		l.Rules = &AuditRules{ExcludeRequester: false, Grant: strconv.Itoa(b.Grant)}
	case Scheduled:
		l.Event, l.Outcome, l.Call, l.By, l.Reason = "scheduled", "made", b.Call, []chat.UserID{b.By.ID}, b.Refused
		if b.Refused != "" {
			l.Outcome = "refused"
		}
	case Slot:
		l.Event, l.Outcome, l.By = "scheduled", "begun", []chat.UserID{b.By.ID}
		if b.Skipped > 0 {
			l.Outcome, l.Reason = "skipped", b.Why
		}
	case Unscheduled:
		l.Event, l.Outcome, l.Reason = "scheduled", "ended", b.Why
		if b.Paused {
			l.Outcome = "paused"
		}
		if b.By.ID != "" {
			l.By = []chat.UserID{b.By.ID}
		}
	case Remembered:
		l.Event, l.Outcome, l.Call, l.By, l.Reason = "fact", "made", b.Call, []chat.UserID{b.By.ID}, b.Refused
		switch {
		case b.Refused != "":
			l.Outcome = "refused"
		case b.Forgot:
			l.Outcome = "forgotten"
		}
	case Message:
		if b.Alert == nil || b.Alert.As == "" || b.Alert.As == AlertAgain {
			return l, false
		}
		l.Event, l.Outcome, l.By = "alert", string(b.Alert.As), []chat.UserID{b.From.ID}
	case Forgot:
		l.Event, l.By = "forgot", []chat.UserID{b.By.ID}
	case Erased:
		l.Event, l.Outcome = "erased", fmt.Sprintf("%d messages", b.Messages)
	case Lost:
		l.Event, l.Call, l.Reason = "lost", b.Call, b.Reason
	default:
		return l, false
	}
	return l, true
}

func ids(users []chat.User) (out []chat.UserID) {
	for _, u := range users {
		out = append(out, u.ID)
	}
	return out
}

func (r Rules) audited() *AuditRules {
	a := &AuditRules{Approvers: r.Approvers, Quorum: r.Quorum, ExcludeRequester: r.ExcludeRequester}
	if r.ExcludeThread {
		a.ExcludeRequester = "thread"
	}
	return a
}

// held gives the rules in force, unless they are those of the line `asked`.
func (r *Rules) held() *AuditRules {
	if r == nil {
		return nil
	}
	return r.audited()
}

// LogValue implements slog.LogValuer. The program's log holds no text of a person, and
// no place in the chain.
func (l AuditLine) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("thread", l.Thread.String()), slog.String("event", l.Event)}
	for _, f := range []struct{ key, value string }{
		{"call", l.Call}, {"tool", l.Tool}, {"digest", l.Digest}, {"verdict", l.Verdict}, {"outcome", l.Outcome},
	} {
		if f.value != "" {
			attrs = append(attrs, slog.String(f.key, f.value))
		}
	}
	if len(l.By) > 0 {
		attrs = append(attrs, slog.Any("by", l.By))
	}
	return slog.GroupValue(attrs...)
}
