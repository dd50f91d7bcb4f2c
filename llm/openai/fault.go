package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"nod/llm"
)

// failure is a failed attempt: the error for the caller, the provider's words, and
// whether another try makes sense.
type failure struct {
	public llm.Error
	said   wireError
	again  bool // from the start
	early  bool // no answer had begun: the request is worth repeating
	cause  error
}

// Error implements error.
func (f *failure) Error() string { return f.public.Error() }

// Unwrap gives the cause, for errors.Is.
func (f *failure) Unwrap() error { return f.cause }

func malformed(what string) *failure {
	return &failure{public: llm.Error{Fault: llm.Malformed, Message: what}, again: true}
}

func broken(what string, cause error) *failure {
	return &failure{public: llm.Error{Fault: llm.Unreachable, Message: what}, again: true, cause: cause}
}

// wireError is a provider's error, in any spelling.
type wireError struct {
	Message string
	Code    string
	Type    string
	Param   string
	Status  int
}

// parseError reads an error out of a body; ok is false when there is none.
func parseError(body []byte) (e wireError, ok bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return e, false
	}
	e.read(v, 0)
	return e, e.Message != "" || e.Code != "" || e.Type != ""
}

// read takes the innermost words first; outer ones only fill gaps.
func (e *wireError) read(v any, depth int) {
	if depth > 5 {
		return
	}
	switch v := v.(type) {
	case string:
		if e.Message == "" {
			e.Message = v
		}
	case []any:
		for _, one := range v {
			e.read(one, depth+1)
		}
	case map[string]any:
		for _, k := range []string{"error", "errors", "message", "detail", "msg"} {
			e.read(v[k], depth+1)
		}
		e.fields(v)
		for _, k := range []string{"innererror", "metadata"} {
			if inner, ok := v[k].(map[string]any); ok {
				e.inner(inner)
			}
		}
	}
}

func (e *wireError) fields(v map[string]any) {
	fill := func(to *string, keys ...string) {
		for _, k := range keys {
			if s, ok := v[k].(string); ok && *to == "" {
				*to = s
			}
		}
	}
	fill(&e.Code, "code")
	fill(&e.Type, "type", "status")
	fill(&e.Param, "param")
	if loc, ok := v["loc"].([]any); ok && e.Param == "" { // FastAPI
		e.Param = strings.Trim(fmt.Sprint(loc), "[]")
	}
	for _, k := range []string{"status_code", "status", "code"} {
		if n, err := strconv.Atoi(fmt.Sprint(v[k])); err == nil && n >= 400 && n < 600 && e.Status == 0 {
			e.Status = n
		}
	}
}

// inner adds the separate parts of Azure (innererror) and OpenRouter (metadata).
func (e *wireError) inner(v map[string]any) {
	if s, ok := v["code"].(string); ok {
		e.Code += " " + s
	}
	if s, ok := v["raw"].(string); ok {
		e.Message += " " + s
	}
}

// words is everything that was said, for looking for words in it.
func (e wireError) words() string {
	return strings.ToLower(e.Code + " " + e.Type + " " + e.Param + " " + e.Message)
}

func (e wireError) says(oneOf ...string) bool {
	words := e.words()
	return slices.ContainsFunc(oneOf, func(s string) bool { return strings.Contains(words, s) })
}

// word matches a code: one word for programs, never a text.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{2,49}$`)

// code is the provider's word for the error.
func (e wireError) code() string {
	for _, s := range []string{e.Code, e.Type} {
		if word.MatchString(s) {
			return s
		}
	}
	return ""
}

// inMessages matches a refusal of what the messages say, not of the tools or of an id.
var inMessages = regexp.MustCompile(`^\W*(body\W+)?(messages|input)\b`)

func (e wireError) tooLong() bool {
	if e.says("string_above_max_length") {
		return inMessages.MatchString(e.Param) && !strings.HasSuffix(e.Param, "id") && !strings.HasSuffix(e.Param, "name")
	}
	return e.says(longWords...)
}

func (e wireError) exhausted() bool { return e.says(exhaustedWords...) }
func (e wireError) filtered() bool  { return e.says(filteredWords...) }

// isError says that an object that came where an answer was due is an error,
// in one of the spellings for which there is no standard.
func isError(raw []byte) bool {
	var v struct {
		Object, Type    string
		Error, Errors   json.RawMessage
		Message, Detail json.RawMessage
	}
	odd := new(json.UnmarshalTypeError)
	if err := json.Unmarshal(raw, &v); err != nil && !errors.As(err, &odd) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) || v.Object == "error" || v.Type == "error" ||
		present(v.Error) || present(v.Errors) || present(v.Message) || present(v.Detail)
}

// inband reads an error that came where an answer was due.
func inband(raw []byte) (*failure, bool) {
	if !isError(raw) {
		return nil, false
	}
	said, _ := parseError(raw)
	if said.Status == 0 {
		switch {
		case said.says("rate_limit", "rate limit", "overloaded", "too many requests"):
			said.Status = http.StatusTooManyRequests
		case said.says("invalid_request", "bad_request", "badrequest", "invalid_argument") || said.tooLong() || said.filtered():
			said.Status = http.StatusBadRequest
		case said.says("authentication", "permission", "unauthorized", "invalid_api_key"):
			said.Status = http.StatusUnauthorized
		default:
			said.Status = http.StatusInternalServerError
		}
	}
	f := refusal(said.Status, said)
	f.again = f.again || f.public.Fault == llm.Unreachable || f.public.Fault == llm.Overloaded
	return f, true
}

// misspoke says that the server could not read the call that its model wrote, and gives
// that for a mistake of the request: Groq. The model may write it better.
func (e wireError) misspoke() bool { return e.Code == "tool_use_failed" }

// refusal is an answer with an error's status.
func refusal(status int, said wireError) *failure {
	f := &failure{said: said, public: llm.Error{Status: status, Message: said.Message}, again: said.misspoke()}
	f.public.Message = cmp.Or(f.public.Message, strings.TrimSpace(strconv.Itoa(status)+" "+http.StatusText(status)))
	f.public.Fault = faultOf(status, said)
	f.public.Code = said.code()
	return f
}

func faultOf(status int, said wireError) llm.Fault {
	switch {
	case status == http.StatusInternalServerError && blind.MatchString(said.words()):
		return llm.Refused
	case status >= 500 && status != 529:
		return llm.Unreachable
	case said.tooLong() || status == http.StatusRequestEntityTooLarge || said.seemsLong(status):
		return llm.TooLong
	case said.filtered():
		return llm.Filtered
	case status == http.StatusUnauthorized || status == http.StatusForbidden || said.says("invalid_api_key", "api key not valid"):
		return llm.Auth
	case said.misspoke():
		return llm.Malformed
	case said.exhausted():
		return llm.Refused
	case status == http.StatusTooManyRequests || status == 529: // 529: Anthropic, overloaded
		return llm.Overloaded
	case status == http.StatusRequestTimeout:
		return llm.Timeout
	}
	return llm.Refused
}

// failure puts any error of an attempt into one form, its message made fit
// for an operator.
func (m *Model) failure(ctx context.Context, err error) *failure {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{cause: err, public: llm.Error{Fault: llm.Unreachable, Message: reason(err)}}
		if sentinel(err) != 0 {
			f.public.Fault = llm.Refused
		}
	}
	if late := ctx.Err(); late != nil {
		f.again, f.early = false, false
		if errors.Is(late, context.DeadlineExceeded) && f.public.Status == 0 {
			f.public.Fault = llm.Timeout
			f.public.Message = "no answer in time"
		}
	}
	f.public.Message = clean(f.public.Message, m.o.APIKey.Reveal())
	return f
}

// reason leaves out the method and the URL of a failed request: a URL may hold
// a password.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

const messageCap = 300 // characters

var (
	title  = regexp.MustCompile(`(?is)<title[^>]*>([^<]*)</title>`)
	tags   = regexp.MustCompile(`(?s)<[^>]*>`)
	secret = regexp.MustCompile(`(?i)\b(bearer\s+\S+|(sk|pk|gsk|xai|key)-[\w*-]{6,})`)
)

// clean makes a provider's message fit for a log: on one line, short, without
// tags and without keys.
func clean(s, key string) string {
	if key != "" {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	s = secret.ReplaceAllString(tags.ReplaceAllString(s, " "), "[key]")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if r := []rune(s); len(r) > messageCap {
		s = string(r[:messageCap-1]) + "…"
	}
	return s
}
