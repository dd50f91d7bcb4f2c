package redis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// An entry in the server is its time in milliseconds, a flag, and its JSON.
// The flag marks what outlives `forget`.
const (
	plain = " "
	kept  = "!"
)

// dueEntry is the JSON of the entry that a script makes of a deadline.
var dueEntry = func() string {
	raw, err := memory.Encode(memory.Due{})
	if err != nil {
		panic(err) // it is a constant
	}
	return string(raw)
}()

// encode gives flag and JSON; the script sets the time before it.
func encode(b memory.Body) (string, error) {
	raw, err := memory.Encode(b)
	if err != nil {
		return "", err
	}
	if b.Kind() == (memory.Started{}).Kind() {
		return kept + string(raw), nil
	}
	return plain + string(raw), nil
}

var errEntry = errors.New("read entry: it is damaged")

func decodeEntry(s string, seq uint64) (memory.Entry, error) {
	i := strings.IndexAny(s, plain+kept)
	if i < 0 {
		return memory.Entry{}, errEntry
	}
	ms, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return memory.Entry{}, errEntry
	}
	b, err := memory.Decode([]byte(s[i+1:]))
	if err != nil {
		return memory.Entry{}, err
	}
	return memory.Entry{Seq: seq, At: timeOf(ms), Body: b}, nil
}

// decodeEntries reads entries whose Seq goes up from first; 0: they have none.
func decodeEntries(list []string, first uint64) ([]memory.Entry, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]memory.Entry, 0, len(list))
	for i, s := range list {
		seq := first
		if first > 0 {
			seq += uint64(i)
		}
		e, err := decodeEntry(s, seq)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// decodeKept reads entries that outlived `forget`: their Seq stands before them.
func decodeKept(list []string) ([]memory.Entry, error) {
	var out []memory.Entry
	for _, s := range list {
		number, rest, _ := strings.Cut(s, " ")
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, errEntry
		}
		e, err := decodeEntry(rest, seq)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Times are milliseconds of the server's clock. The server's zero is none.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// millisOf rounds up, so that nothing is due before its time.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Add(time.Millisecond-1).UnixMilli(), 1)
}

func parseThread(s string) (chat.ThreadID, error) {
	t, err := chat.ParseThreadID(s)
	if err != nil {
		return t, fmt.Errorf("read name of thread: %w", err)
	}
	return t, nil
}
