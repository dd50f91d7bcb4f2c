package calculator

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an expression.
const (
	maxExpression = 1000 // bytes
	maxNesting    = 50   // parentheses
)

// tokenKind says what a token is to the parser.
type tokenKind int

const (
	literal tokenKind = iota + 1
	constant
	function
	operator
	opening
	closing
	comma
)

// token is a piece of an expression.
type token struct {
	kind    tokenKind
	text    string // normalised
	written string // as the model wrote it
	at      int    // where, in characters
	from    int    // where it is in the text for expr, in bytes
}

// lexer cuts an expression into tokens and translates how people and models
// write arithmetic. What it does not know it refuses: expr's language has
// comments, strings, loops and more, and none of it gets past here.
type lexer struct {
	text   string
	pos    int
	tokens []token
	calls  []bool // for every open parenthesis, whether it is of a function
}

func lex(text string) ([]token, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes; calculate it in parts", maxExpression)
	}
	l := lexer{text: strings.TrimRight(text, "= \t\r\n")}
	for l.pos < len(l.text) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(l.tokens) == 0:
		return nil, errors.New("it is empty")
	case len(l.calls) > 0:
		return nil, errors.New("a closing parenthesis is missing")
	case l.last() == function:
		return nil, l.bareFunction()
	}
	return l.tokens, nil
}

var (
	numberPattern    = regexp.MustCompile(`^(?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?`)
	thousandsPattern = regexp.MustCompile(`^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?`)
	namePattern      = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_]*|π|√)`)
	percentOfPattern = regexp.MustCompile(`(?i)^%\s*of\b`)
)

// signs are the other ways in which operators are written.
var signs = map[rune]string{
	'+': "+", '-': "-", '−': "-", '–': "-", '*': "*", '×': "*", '·': "*", '⋅': "*", '∙': "*",
	'/': "/", '÷': "/", '∕': "/", '%': "%", '^': "^",
}

func (l *lexer) last() tokenKind {
	if len(l.tokens) == 0 {
		return 0
	}
	return l.tokens[len(l.tokens)-1].kind
}

// add takes n bytes of the text as a token.
func (l *lexer) add(kind tokenKind, text string, n int) {
	l.tokens = append(l.tokens, token{
		kind: kind, text: text, written: l.text[l.pos : l.pos+n], at: utf8.RuneCountInString(l.text[:l.pos]),
	})
	l.pos += n
}

func (l *lexer) next() error {
	rest := l.text[l.pos:]
	r, size := utf8.DecodeRuneInString(rest)
	if unicode.IsSpace(r) {
		l.pos += size
		return nil
	}
	if l.last() == function && r != '(' {
		return l.bareFunction()
	}
	switch {
	case r >= '0' && r <= '9' || r == '.':
		return l.number(rest)
	case namePattern.MatchString(rest):
		return l.name(strings.ToLower(namePattern.FindString(rest)))
	case r == '(':
		return l.open()
	case r == ')':
		if len(l.calls) == 0 {
			return errors.New("there is a closing parenthesis too many")
		}
		l.calls = l.calls[:len(l.calls)-1]
		l.add(closing, ")", size)
		return nil
	case r == ',':
		if !l.inCall() {
			return errors.New("a comma stands only between the arguments of a function or between thousands; the decimal sign is a point")
		}
		l.add(comma, ",", size)
		return nil
	}
	return l.operator(rest, r, size)
}

func (l *lexer) inCall() bool { return len(l.calls) > 0 && l.calls[len(l.calls)-1] }

func (l *lexer) bareFunction() error {
	name := l.tokens[len(l.tokens)-1].text
	return fmt.Errorf("%s is a function; write its argument in parentheses, %s(…)", name, name)
}

// operand refuses a number, a name or a parenthesis that follows another one.
func (l *lexer) operand(written string) error {
	switch l.last() {
	case literal, constant, closing:
		return fmt.Errorf("an operator is missing before %q", written)
	}
	return nil
}

func (l *lexer) number(rest string) error {
	written := numberPattern.FindString(rest)
	if written == "" {
		return errors.New("a point without digits behind it is no number")
	}
	if t := thousandsPattern.FindString(rest); t != "" && !continues(rest[len(t):]) {
		if l.inCall() {
			return fmt.Errorf("%q could be one number or several; write thousands without commas, and a space behind the commas between arguments", t)
		}
		written = t
	}
	if err := l.operand(written); err != nil {
		return err
	}
	l.add(literal, strings.NewReplacer(",", "", "_", "").Replace(written), len(written))
	return nil
}

// continues says whether a number could go on here.
func continues(rest string) bool {
	return rest != "" && strings.IndexByte("0123456789_.", rest[0]) >= 0
}

func (l *lexer) name(name string) error {
	size := len(name)
	switch name {
	case "π":
		name = "pi"
	case "√":
		name = "sqrt"
	}
	if err := l.operand(name); err != nil {
		return err
	}
	if _, ok := constants[name]; ok {
		l.add(constant, name, size)
		return nil
	}
	if f, ok := functions[name]; ok && !f.internal {
		l.add(function, name, size)
		return nil
	}
	return fmt.Errorf("there is no %q; there are %s", name, knownNames)
}

func (l *lexer) open() error {
	if err := l.operand("("); err != nil {
		return err
	}
	if len(l.calls) == maxNesting {
		return fmt.Errorf("it has more than %d parentheses within each other; calculate it in parts", maxNesting)
	}
	l.calls = append(l.calls, l.last() == function)
	l.add(opening, "(", 1)
	return nil
}

func (l *lexer) operator(rest string, r rune, size int) error {
	switch {
	case strings.HasPrefix(rest, "//"):
		return errors.New("there is no //; write floor(a / b)")
	case strings.HasPrefix(rest, "**"):
		l.add(operator, "^", 2)
		return nil
	case r == '²', r == '³':
		return l.superscript(r, size)
	case r == '!':
		return errors.New("there is no !; write factorial(n)")
	case unicode.Is(unicode.Sc, r):
		return fmt.Errorf("leave out the currency sign %q", string(r))
	}
	if p := percentOfPattern.FindString(rest); p != "" {
		l.add(operator, "/", len(p))
		l.add(literal, "100", 0)
		l.add(operator, "*", 0)
		return nil
	}
	sign, ok := signs[r]
	if !ok {
		return fmt.Errorf("%q is not understood; only arithmetic is", string(r))
	}
	l.add(operator, sign, size)
	return nil
}

func (l *lexer) superscript(r rune, size int) error {
	l.add(operator, "^", size)
	if r == '²' {
		l.add(literal, "2", 0)
	} else {
		l.add(literal, "3", 0)
	}
	return nil
}
