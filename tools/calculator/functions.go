package calculator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// mathFunction is a function of the calculator.
type mathFunction struct {
	least, most int // arguments
	apply       operation
}

// many is more arguments than an expression can hold.
const many = maxExpression

// functions holds every function by name.
var functions = map[string]mathFunction{
	"sqrt": {1, 1, squareRoot}, "cbrt": {1, 1, cubeRoot},
	"abs": {1, 1, absolute}, "sign": {1, 1, sign},
	"round": {1, 2, round}, "floor": {1, 1, toInteger(apd.RoundFloor)},
	"ceil": {1, 1, toInteger(apd.RoundCeiling)}, "trunc": {1, 1, toInteger(apd.RoundDown)},
	"min": {1, many, extreme(-1)}, "max": {1, many, extreme(1)},
	"sum": {1, many, sum}, "mean": {1, many, mean},
	"ln": {1, 1, ln}, "exp": {1, 1, exponential}, "log": {1, 2, logarithm},
	"log10": {1, 1, logarithmTo(10)}, "log2": {1, 1, logarithmTo(2)},
	"factorial": {1, 1, factorial}, "gcd": {2, 2, ofSizes(gcd)}, "lcm": {2, 2, ofSizes(lcm)},
	"sin": {1, 1, sine}, "cos": {1, 1, cosine}, "tan": {1, 1, tangent},
	"asin": {1, 1, inverse(math.Asin, 1)}, "acos": {1, 1, inverse(math.Acos, 1)},
	"atan": {1, 1, inverse(math.Atan, math.MaxFloat64)},
	"rad":  {1, 1, scaled(pi, integer(180))}, "deg": {1, 1, scaled(integer(180), pi)},
}

var (
	pi = irrational("3.14159265358979323846264338327950288419716939937510582097494459230781640628620900")
	// constants are the names that stand for a number.
	constants = map[string]*number{
		"pi": pi,
		"e":  irrational("2.71828182845904523536028747135266249775724709369995957496696762772407663035354759"),
	}
	knownNames = strings.Join(append(slices.Sorted(maps.Keys(constants)), slices.Sorted(maps.Keys(functions))...), ", ")
)

func irrational(text string) *number {
	n := &number{digits: shownDigits}
	if _, _, err := n.SetString(text); err != nil {
		panic(err)
	}
	return n
}

func integer(i int64) *number { return &number{Decimal: *apd.New(i, 0)} }

func (f mathFunction) call(name string, x []*number) (*number, error) {
	if len(x) < f.least || len(x) > f.most {
		return nil, fmt.Errorf("%s takes %s, not %d", name, f.arity(), len(x))
	}
	out := f.apply(x...)
	if out.err != nil {
		return nil, fmt.Errorf("%s: %w", name, out.err)
	}
	return out, nil
}

func (f mathFunction) arity() string {
	switch {
	case f.most == many:
		return "at least 1 argument"
	case f.least != f.most:
		return fmt.Sprintf("%d or %d arguments", f.least, f.most)
	case f.most == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.most)
}

// arithmetic makes a function of an operation that apd has.
func arithmetic(op func(c *apd.Context, d, x, y *apd.Decimal) (apd.Condition, error)) operation {
	return func(x ...*number) *number {
		return exact(func(c *apd.Context, d *apd.Decimal) (apd.Condition, error) {
			return op(c, d, &x[0].Decimal, &x[1].Decimal)
		}, x...)
	}
}

var (
	add      = arithmetic((*apd.Context).Add)
	subtract = arithmetic((*apd.Context).Sub)
	multiply = arithmetic((*apd.Context).Mul)
	divide   = arithmetic((*apd.Context).Quo)
	leaves   = arithmetic((*apd.Context).Rem)
	negate   = lossless((*apd.Decimal).Neg)
	absolute = lossless((*apd.Decimal).Abs)
)

// lossless makes a function of an operation that needs no more digits than its operand.
func lossless(op func(d, x *apd.Decimal) *apd.Decimal) operation {
	return func(x ...*number) *number {
		out := number{digits: x[0].digits}
		op(&out.Decimal, &x[0].Decimal)
		return &out
	}
}

func sign(x ...*number) *number { return integer(int64(x[0].settled().Sign())) }

// remainder has the sign of the divisor.
func remainder(x ...*number) *number {
	if x[1].IsZero() {
		return none(errZero)
	}
	b := x[1].settled()
	r := leaves(x[0].settled(), b)
	if r.err != nil || r.IsZero() || r.Negative == b.Negative {
		return r
	}
	return add(r, b)
}

// percent is so many percent of a number.
func percent(x ...*number) *number { return multiply(divide(x[0], integer(100)), x[1]) }

func sum(x ...*number) *number {
	total := integer(0)
	for _, n := range x {
		total = add(total, n)
	}
	return total
}

func mean(x ...*number) *number { return divide(sum(x...), integer(int64(len(x)))) }

func extreme(which int) operation {
	return func(x ...*number) *number {
		best := x[0]
		for _, n := range x[1:] {
			if n.Cmp(&best.Decimal) == which {
				best = n
			}
		}
		return best
	}
}

// scaled multiplies by one number and divides by another.
func scaled(times, by *number) operation {
	return func(x ...*number) *number { return divide(multiply(x[0], times), by) }
}

func round(x ...*number) *number {
	places := int64(0)
	if len(x) == 2 {
		p, err := x[1].settled().Int64()
		if err != nil || p < -exactDigits || p > exactDigits {
			return none(fmt.Errorf("the places must be a whole number from -%d to %d", exactDigits, exactDigits))
		}
		places = p
	}
	return quantize(x[0], -int32(places), apd.RoundHalfUp)
}

func toInteger(how apd.Rounder) operation {
	return func(x ...*number) *number { return quantize(x[0], 0, how) }
}

// quantize cuts a number at a power of ten. Its result counts as exact: the caller
// asked for it.
func quantize(x *number, exponent int32, how apd.Rounder) *number {
	x = x.settled()
	if x.Exponent >= exponent {
		return &number{Decimal: x.Decimal}
	}
	c := *exactly
	c.Precision, c.Rounding = largestPower, how
	var out number
	if condition, err := c.Quantize(&out.Decimal, &x.Decimal, exponent); err != nil {
		return none(inWords(condition, err))
	}
	return &out
}

// whole gives an integer that is not too large to be written out.
func whole(x *number) (*big.Int, error) {
	var n apd.Decimal
	n.Reduce(&x.settled().Decimal)
	if n.Exponent < 0 || n.Form != apd.Finite {
		return nil, errors.New("it takes whole numbers")
	}
	if int64(n.Exponent)+n.NumDigits() > exactDigits {
		return nil, fmt.Errorf("it takes numbers of up to %d digits", exactDigits)
	}
	i, _ := new(big.Int).SetString(n.Text('f'), 10) // it has digits only
	return i, nil
}

func fromBig(i *big.Int) *number {
	d := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(i), 0)
	return exact(func(c *apd.Context, out *apd.Decimal) (apd.Condition, error) { return c.Round(out, d) })
}

// ofSizes makes a function of the sizes of two integers and their greatest common divisor.
func ofSizes(f func(a, b, divisor *big.Int) *big.Int) operation {
	return func(x ...*number) *number {
		a, err := whole(x[0])
		b, wrong := whole(x[1])
		if err = cmp.Or(err, wrong); err != nil {
			return none(err)
		}
		a, b = a.Abs(a), b.Abs(b)
		return fromBig(f(a, b, new(big.Int).GCD(nil, nil, a, b)))
	}
}

func gcd(_, _, divisor *big.Int) *big.Int { return divisor }

func lcm(a, b, divisor *big.Int) *big.Int {
	if divisor.Sign() == 0 { // of two zeros
		return divisor
	}
	return a.Mul(a.Quo(a, divisor), b)
}

// largestFactorial keeps the result under the largest power of ten.
const largestFactorial = 3000

func factorial(x ...*number) *number {
	n, err := whole(x[0])
	if err != nil {
		return none(err)
	}
	if n.Sign() < 0 || n.Cmp(big.NewInt(largestFactorial)) > 0 {
		return none(fmt.Errorf("it takes whole numbers from 0 to %d", largestFactorial))
	}
	return fromBig(new(big.Int).MulRange(1, n.Int64()))
}
