package calculator

import (
	"context"
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

// How tightly operators bind, loosest first.
const (
	bindsSum = iota + 1
	bindsProduct
	bindsSign
	bindsPower
)

// operation calculates with the arguments of a function or an operator.
type operation func(x ...*number) *number

// operator stands between two operands, or before one where it has a sign.
type operator struct {
	binds int
	apply operation
	sign  operation
	right *number // the right operand, if the operator brings it along
}

var (
	plus      = operator{binds: bindsSum, apply: add, sign: func(x ...*number) *number { return x[0] }}
	minus     = operator{binds: bindsSum, apply: subtract, sign: negate}
	times     = operator{binds: bindsProduct, apply: multiply}
	over      = operator{binds: bindsProduct, apply: divide}
	modulo    = operator{binds: bindsProduct, apply: remainder}
	percentOf = operator{binds: bindsProduct, apply: percent}
	raised    = operator{binds: bindsPower, apply: power}
	// operators holds them by all the signs in which people write them.
	operators = map[rune]operator{
		'+': plus, '-': minus, '−': minus, '–': minus, '*': times, '×': times, '·': times, '⋅': times, '∙': times,
		'/': over, '÷': over, '∕': over, '%': modulo, '^': raised,
		'²': {binds: bindsPower, apply: power, right: integer(2)}, '³': {binds: bindsPower, apply: power, right: integer(3)},
	}
)

var (
	numberPattern    = regexp.MustCompile(`^(?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?`)
	thousandsPattern = regexp.MustCompile(`^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?`)
	namePattern      = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_]*|π|√)`)
	percentOfPattern = regexp.MustCompile(`(?i)^%\s*of\b`)
)

// parser reads an expression by precedence climbing, and calculates as it reads.
// It knows arithmetic and refuses all else.
type parser struct {
	stopped func() error
	text    string
	pos     int
	nesting int     // open parentheses
	inCall  bool    // the innermost one is a function's
	given   *number // the next operand, where an operator brought it along
}

// calculate evaluates an expression.
func calculate(ctx context.Context, text string) (*number, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes; calculate it in parts", maxExpression)
	}
	p := parser{stopped: ctx.Err, text: strings.TrimRight(text, "= \t\r\n")}
	if p.next() == "" {
		return nil, errors.New("it is empty")
	}
	return p.expression(bindsSum)
}

// next skips spaces, and gives the text from there on.
func (p *parser) next() string {
	rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace)
	p.pos = len(p.text) - len(rest)
	return rest
}

// takes skips a sign if it comes next.
func (p *parser) takes(sign string) bool {
	if !strings.HasPrefix(p.next(), sign) {
		return false
	}
	p.pos += len(sign)
	return true
}

// token is the next piece of an expression.
type token struct {
	kind byte // '0': a number, 'a': a name, '+': an operator, 0: the end; others are the sign itself
	text string
	op   operator
}

// peek reads the next token, and stays before it. It refuses a comma or a closing
// parenthesis that belongs to nothing.
func (p *parser) peek() (t token, err error) {
	rest := p.next()
	if rest == "" {
		return t, nil
	}
	switch c := rest[0]; {
	case c == ')' && p.nesting == 0:
		return t, errors.New("there is a closing parenthesis too many")
	case c == ',' && !p.inCall:
		return t, errors.New("a comma stands only between the arguments of a function or between thousands; the decimal sign is a point")
	case c == '(' || c == ')' || c == ',':
		return token{kind: c, text: rest[:1]}, nil
	case c == '.' || c >= '0' && c <= '9':
		t.kind = '0'
		t.text, err = p.digits(rest)
		return t, err
	}
	if name := namePattern.FindString(rest); name != "" {
		return token{kind: 'a', text: name}, nil
	}
	t.kind = '+'
	t.op, t.text, err = readOperator(rest)
	return t, err
}

// expression calculates up to the first operator that binds more loosely.
func (p *parser) expression(least int) (*number, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		t, err := p.peek()
		switch {
		case err != nil:
			return nil, err
		case t.kind == '0' || t.kind == 'a' || t.kind == '(':
			return nil, fmt.Errorf("an operator is missing before %q", t.text)
		case t.op.binds < least: // as is what ends it
			return left, nil
		}
		p.pos += len(t.text)
		tighter := t.op.binds + 1
		if t.op.binds == bindsPower { // 2^3^2 is 2^(3^2)
			tighter = bindsPower
		}
		p.given = t.op.right
		right, err := p.expression(tighter)
		if err == nil {
			err = p.stopped()
		}
		if err != nil {
			return nil, err
		}
		if left = t.op.apply(left, right); left.err != nil {
			return nil, left.err
		}
	}
}

// readOperator reads the operator with which a text begins.
func readOperator(text string) (op operator, written string, err error) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case strings.HasPrefix(text, "//"):
		return op, "", errors.New("there is no //; write floor(a / b)")
	case strings.HasPrefix(text, "**"):
		return raised, "**", nil
	case r == '!':
		return op, "", errors.New("there is no !; write factorial(n)")
	case unicode.Is(unicode.Sc, r):
		return op, "", fmt.Errorf("leave out the currency sign %q", string(r))
	}
	if written = percentOfPattern.FindString(text); written != "" {
		return percentOf, written, nil
	}
	op, ok := operators[r]
	if !ok {
		return op, "", fmt.Errorf("%q is not understood; only arithmetic is", string(r))
	}
	return op, text[:size], nil
}

// operand reads a number, a name, a call, a parenthesis, or one with a sign.
func (p *parser) operand() (*number, error) {
	if x := p.given; x != nil {
		p.given = nil
		return x, nil
	}
	t, err := p.peek()
	switch {
	case err != nil:
		return nil, err
	case t.kind == 0:
		return nil, errors.New("it ends too early")
	case t.kind == ')' || t.kind == ',' || t.kind == '+' && t.op.sign == nil:
		return nil, fmt.Errorf("it cannot be read from character %d on, at %q", utf8.RuneCountInString(p.text[:p.pos])+1, t.text)
	case t.kind == '(':
		x, err := p.parenthesis(false)
		if err != nil {
			return nil, err
		}
		return x[0], nil
	}
	p.pos += len(t.text)
	switch t.kind {
	case '0':
		return parseNumber(strings.NewReplacer(",", "", "_", "").Replace(t.text))
	case 'a':
		return p.named(strings.ToLower(t.text))
	}
	x, err := p.expression(bindsSign)
	if err != nil {
		return nil, err
	}
	return t.op.sign(x), nil
}

// digits finds the number with which a text begins, with commas between
// thousands where they are no commas between arguments.
func (p *parser) digits(text string) (string, error) {
	written := numberPattern.FindString(text)
	if written == "" {
		return "", errors.New("a point without digits behind it is no number")
	}
	t := thousandsPattern.FindString(text)
	if t == "" || len(t) < len(text) && strings.IndexByte("0123456789_.", text[len(t)]) >= 0 {
		return written, nil
	}
	if p.inCall {
		return "", fmt.Errorf("%q could be one number or several; write thousands without commas, and a space behind the commas between arguments", t)
	}
	return t, nil
}

// named gives a constant, or calls a function.
func (p *parser) named(name string) (*number, error) {
	name = strings.NewReplacer("π", "pi", "√", "sqrt").Replace(name)
	if n, ok := constants[name]; ok {
		return n, nil
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no %q; there are %s", name, knownNames)
	}
	if !strings.HasPrefix(p.next(), "(") {
		return nil, fmt.Errorf("%s is a function; write its argument in parentheses, %s(…)", name, name)
	}
	x, err := p.parenthesis(true)
	if err != nil {
		return nil, err
	}
	if err := p.stopped(); err != nil {
		return nil, err
	}
	return f.call(name, x)
}

// parenthesis reads one expression in parentheses, or a call's arguments.
func (p *parser) parenthesis(call bool) ([]*number, error) {
	if p.nesting == maxNesting {
		return nil, fmt.Errorf("it has more than %d parentheses within each other; calculate it in parts", maxNesting)
	}
	defer func(outer bool) { p.nesting, p.inCall = p.nesting-1, outer }(p.inCall)
	p.nesting, p.inCall, p.pos = p.nesting+1, call, p.pos+1
	var x []*number
	for !call || !p.takes(")") { // also behind a last comma, which does no harm
		n, err := p.expression(bindsSum)
		if err != nil {
			return nil, err
		}
		x = append(x, n)
		if p.takes(")") {
			return x, nil
		}
		if !p.takes(",") {
			return nil, errors.New("a closing parenthesis is missing")
		}
	}
	return x, nil
}
