// Package args reads the arguments of a tool call, which models don't always write
// as JSON, and checks them against the tool's JSON Schema.
//
// One rule stands above the others: arguments that end in the middle are never
// completed. Arguments that were cut off (a token limit, a broken stream) may still look
// like a whole call, and `{"path": "/srv/data` must not become a deletion of
// /srv/data. The model is told, and writes the call again.
//
// Native is for native function calls, where providers mostly deliver JSON: it
// takes fences and prose off and repairs nothing. Text is for the protocols in
// which the model writes its calls as text: it repairs mistakes with only one sane
// reading. Both return one JSON object without duplicate names.
//
// Every error and every violation is written for the model: the mistake, and the
// remedy. Everything here is pure.
package args

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSize is the limit of arguments, in bytes.
const MaxSize = 1 << 20

// ErrUnclosed says that the arguments end before they are complete.
var ErrUnclosed = errors.New("the arguments end in the middle; write the whole JSON object again")

var (
	errTooLong   = fmt.Errorf("the arguments are longer than %d bytes; write less", MaxSize)
	errEncoding  = errors.New("the arguments are not valid UTF-8; write them again")
	errHalf      = errors.New("the arguments hold half of a character (a lone surrogate such as \\ud83d); write the whole character")
	errRemainder = errors.New("the arguments go on after the end of the JSON object; write one JSON object and nothing else")
)

// Native reads the arguments of a native function call. The outcome is one
// compact JSON object. No text, null and an empty list mean a call without arguments.
// A string that holds an object is that, and {}, null or "" before another is none:
// some servers encode twice, or begin a stream with one of those. A code fence around the object
// and prose behind it are taken off; prose cannot begin like JSON, so that neither a
// second object nor a misplaced brace is dropped in silence. Nothing else is repaired.
func Native(text string) (json.RawMessage, error) {
	body, err := prepare(text)
	if err != nil {
		return nil, err
	}
	if body == "" || body == "null" {
		return json.RawMessage(`{}`), nil
	}
	body, _ = unfence(body)
	raw, rest, err := first(body)
	for err == nil && isFiller(raw) && beginsWith(rest, `{"`) {
		raw, rest, err = first(rest)
	}
	if err != nil {
		return nil, describe(err)
	}
	if beginsWith(rest, `,:"'{}[]`) {
		return nil, errRemainder
	}
	if text, ok := unquoted(raw); ok {
		return Native(text)
	}
	if isBlank(raw, "[]") {
		return json.RawMessage(`{}`), nil
	}
	return finish(raw)
}

// isFiller says whether a value before the arguments says nothing.
func isFiller(raw json.RawMessage) bool {
	return isBlank(raw, "{}") || string(raw) == "null" || string(raw) == `""`
}

// isBlank says whether a value is a pair of brackets with nothing in it.
func isBlank(raw json.RawMessage, brackets string) bool {
	return strings.Join(strings.Fields(string(raw)), "") == brackets
}

// unquoted is the text of a JSON string that can only stand for arguments.
func unquoted(raw json.RawMessage) (text string, ok bool) {
	if kindOf(raw) != "a string" || halved(raw) || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	text = strings.TrimSpace(text)
	return text, text == "" || text == "null" || isBlank(json.RawMessage(text), "[]") || text[0] == '{' || text[0] == '"' || openingFence.MatchString(text)
}

// Canonical gives one form to all spellings of the same arguments: names sorted, no
// spaces, no needless escapes. Numbers stay as written, since rounding could make
// different calls equal. Text that is not JSON comes back unchanged.
func Canonical(args json.RawMessage) json.RawMessage {
	if value, err := decode(args); err == nil {
		if out, err := encode(value); err == nil {
			return out
		}
	}
	return args
}

// Digest names a call by its effect: hex SHA-256 over the tool's name, a zero byte, and
// the canonical arguments. It binds an approval.
func Digest(tool string, args json.RawMessage) string {
	h := sha256.New()
	_, _ = io.WriteString(h, tool+"\x00") // a hash never returns an error
	_, _ = h.Write(Canonical(args))
	return hex.EncodeToString(h.Sum(nil))
}

// prepare trims the text, and refuses unreadable text.
func prepare(text string) (string, error) {
	if len(text) > MaxSize {
		return "", errTooLong
	}
	if !utf8.ValidString(text) {
		return "", errEncoding
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), nil
}

var openingFence = regexp.MustCompile("^```[A-Za-z0-9_+-]*[ \t]*\r?\n?")

// unfence takes the opening line of a Markdown code fence off. The closing one
// stands behind the object, where the caller cuts anyway.
func unfence(body string) (string, bool) {
	fence := openingFence.FindString(body)
	return strings.TrimSpace(body[len(fence):]), fence != ""
}

// first splits off the first JSON value, strictly read.
func first(body string) (raw json.RawMessage, rest string, err error) {
	dec := json.NewDecoder(strings.NewReader(body))
	if err := dec.Decode(&raw); err != nil {
		return nil, "", err
	}
	return raw, body[dec.InputOffset():], nil
}

// beginsWith says whether the first visible character is one of chars.
func beginsWith(rest, chars string) bool {
	rest = strings.TrimSpace(rest)
	return rest != "" && strings.IndexByte(chars, rest[0]) >= 0
}

// finish makes the outcome of a value that is valid JSON.
func finish(raw json.RawMessage) (json.RawMessage, error) {
	if kind := kindOf(raw); kind != "an object" {
		return nil, fmt.Errorf("the arguments must be one JSON object, not %s", kind)
	}
	if halved(raw) {
		return nil, errHalf
	}
	if err := inspect(raw); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, describe(err)
	}
	return out.Bytes(), nil
}

// halves matches a character that is written in two halves, one half of a character, and
// every other escape, in this order.
var halves = regexp.MustCompile(`(?i)\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)|\\.`)

// halved says whether valid JSON holds half of a character. Readers differ on such a
// half, so nobody could say what was approved.
func halved(raw []byte) bool {
	return slices.ContainsFunc(halves.FindAllSubmatch(raw, -1), func(m [][]byte) bool { return m[1] != nil })
}

// kindOf names the kind of a valid JSON value.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// describe turns an error of encoding/json into words for the model.
func describe(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrUnclosed
	}
	if errors.Is(err, errRemainder) {
		return err
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("the arguments are not valid JSON: %w (byte %d); write one JSON object", err, syntax.Offset)
	}
	return fmt.Errorf("the arguments are not valid JSON: %w; write one JSON object", err)
}

func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errRemainder
	}
	return value, nil
}

func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
