package args

import (
	"errors"
	"regexp"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrPattern says that a schema has an unreadable pattern.
var ErrPattern = errors.New("a pattern in it is no regular expression, neither of ECMAScript nor of Go")

// patternTime is how long one value may be compared with one pattern. Patterns
// that look ahead or back can take for ever over a value that was made for it.
const patternTime = 100 * time.Millisecond

// compilePattern reads a pattern as a Go expression, which runs in linear time. If Go
// can't read it, it is an expression of ECMAScript, as JSON Schema has it
// (https://json-schema.org/draft/2020-12/json-schema-core#section-6.4).
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode, regexp2.OptionMaxBacktrackingStackSize(1<<20))
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTime
	return backtracking{re}, nil
}

// backtracking is a pattern that may take too long.
type backtracking struct{ *regexp2.Regexp }

// tooSlow ends a check from within: whether the value fits is not known, and a
// plain false would mean that it does wherever a schema says "not".
type tooSlow struct{}

// MatchString implements jsonschema.Regexp.
func (b backtracking) MatchString(s string) bool {
	fits, err := b.Regexp.MatchString(s)
	if err != nil {
		panic(tooSlow{})
	}
	return fits
}

var errTooSlow = errors.New("a value takes too long to be compared with its pattern; write a shorter or simpler one")

// validate is the schema's judgement of a value.
func (s *Schema) validate(value any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, slow := r.(tooSlow); !slow {
				panic(r)
			}
			err = errTooSlow
		}
	}()
	return s.compiled.Validate(value)
}
