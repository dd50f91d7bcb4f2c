package thread

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"nod/chat"
	"nod/chat/vocabulary"
)

// ballot is a vote by word: `y` or `n`, with the number of the approval while several
// wait, and a reason: `n 2 too late`.
type ballot struct {
	no     bool
	number int // 0: none was given
	why    string
}

// parseBallot reads a text that may be a vote.
func parseBallot(text string) (b ballot, ok bool) {
	if len(text) > mostCommand {
		return ballot{}, false
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(word) {
	case "y":
	case "n":
		b.no = true
	default:
		return ballot{}, false
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return b, true
	}
	number, why, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case b.no && err != nil:
		b.why = rest
	case err != nil || n < 1 || !b.no && why != "":
		return ballot{}, false
	default:
		b.number, b.why = n, strings.TrimSpace(why)
	}
	return b, true
}

// decides says whether a text may decide about a call, other than to deny one by its number.
func decides(text string) bool {
	b, votes := parseBallot(text)
	word, _, _ := ParseCommand(text)
	return votes && !(b.no && b.number > 0) || word == "allow"
}

// mostChange is how long a command with arguments may be, in bytes.
const mostChange = 64 << 10

// parseChange reads `edit 1 {"service":"web"}`. Text that was meant as a JSON object is
// enough.
func parseChange(text string) (number int, object string, ok bool) {
	if len(text) > mostChange {
		return 0, "", false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "edit") {
		return 0, "", false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))[1:]
	if len(words) > 0 && strings.Trim(words[0], "`") != "" {
		n, err := strconv.Atoi(strings.Trim(words[0], "`"))
		if err != nil || n < 1 {
			return 0, "", false
		}
		number, words = n, words[1:]
	}
	if strings.Trim(strings.Join(words, ""), "`") != "" {
		return 0, "", false
	}
	object = typedObject(text[len(head):])
	return number, object, meantAsObject(object)
}

// IsObject says whether a text is a JSON object.
func IsObject(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// aboutCards says whether a text is a word about an approval, and gives its number; 0 is
// the only one that waits.
func aboutCards(text string) (number int, ok bool) {
	if b, ok := parseBallot(text); ok {
		return b.number, true
	}
	if number, _, ok := parseChange(text); ok {
		return number, true
	}
	if word, arg, ok := ParseCommand(text); ok && word == "allow" {
		number, _, ok = parseAllow(arg)
		return number, ok
	}
	return 0, false
}

// parseAllow reads `1 1h`, `1 5x`, `1h` or `5x`. Number 0 is the only approval that waits.
func parseAllow(arg string) (number int, terms chat.Grant, ok bool) {
	fields := strings.Fields(arg)
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 {
			return 0, terms, false
		}
		number, fields = n, fields[1:]
	}
	if len(fields) != 1 {
		return 0, terms, false
	}
	text := strings.ToLower(fields[0])
	if uses, isCount := strings.CutSuffix(text, "x"); isCount {
		n, err := strconv.Atoi(uses)
		terms.Uses = n
		return number, terms, err == nil && n > 0
	}
	long, err := time.ParseDuration(text)
	terms.For = long
	return number, terms, err == nil && long > 0
}

// Number reads the number of a call; 0 for anything else.
func Number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// People may run a tool themselves: `run NAME {…}`. The call is the first step of a turn
// of its own, and the person is its requester. The turn ends with the result of the call;
// no model is asked. All rules of calls hold. Later turns show the call to the model, as
// not its own.
//
// An order waits while a turn runs, and messages behind the order wait with it. So
// everything goes on in the order in which it was said.

// Order is the wish of a person to run a call.
type Order struct {
	Tool, Args string
	Of         string // the call that it is made of, by its id
}

// parseRun reads `run NAME {…}`. Text that was meant as a JSON object is enough.
func parseRun(text string) (o Order, ok bool) {
	if len(text) > mostChange {
		return Order{}, false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "run") {
		return Order{}, false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && strings.Trim(words[2], "`") != "" {
		return Order{}, false
	}
	o.Tool = strings.Trim(words[1], "`")
	o.Args = typedObject(text[len(head):])
	return o, o.Tool != "" && meantAsObject(o.Args)
}

// typedObject is a JSON object as a person typed it, perhaps as code.
func typedObject(text string) string {
	text = strings.TrimSpace(strings.TrimRight(text, "` \t\r\n"))
	if !json.Valid([]byte(text)) { // keyboards of phones make their own quotes
		if plain := straight.Replace(text); json.Valid([]byte(plain)) {
			return plain
		}
	}
	return text
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`)

// meantAsObject says whether a text is a JSON object, or begins like one.
func meantAsObject(text string) bool {
	rest := strings.TrimSpace(strings.TrimPrefix(text, "{"))
	return IsObject(text) || strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "'")
}

// mostCommand is how long a vote by word may be, in bytes.
const mostCommand = 300

func firstWord(text string) string {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i]
	}
	return text
}

// ParseCommand reads a text that is only a word of the vocabulary.
func ParseCommand(text string) (name, arg string, ok bool) {
	name, arg, ok = vocabulary.Parse(text)
	if name == "allow" {
		_, _, ok = parseAllow(arg)
	}
	return name, arg, ok
}
