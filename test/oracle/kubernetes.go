package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kubernetesAnswer compiles and runs as the admission plugins of the API server do.
func kubernetesAnswer(request *Request) *Answer {
	prepared, err := environmentOf(request)
	if err != nil {
		return failed("request", err.Error())
	}
	env := prepared.env
	ast, issues := env.Parse(request.Expression)
	if issues.Err() != nil {
		return failed("parse", issues.String())
	}
	answer := &Answer{}
	if !request.DisableCheck {
		// Compile, not Check: it also runs the validators of literals.
		checked, issues := env.Compile(request.Expression)
		if issues.Err() != nil {
			return failed("check", issues.String())
		}
		ast = checked
		answer.Type = typeOf(ast.OutputType())
	}
	switch request.Do {
	case "check":
		return answer
	case "estimate":
		estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: &sizes{root: prepared.object}})
		if err != nil {
			return failed("check", err.Error())
		}
		answer.Estimate = &Range{Min: strconv.FormatUint(estimate.Min, 10), Max: strconv.FormatUint(estimate.Max, 10)}
		return answer
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return failed("program", err.Error())
	}
	activation, err := activationOf(request, prepared)
	if err != nil {
		return failed("request", err.Error())
	}
	answer.evaluate(program, activation)
	answer.repeat(program, activation, request.Repeat)
	return answer
}

func (a *Answer) evaluate(program cel.Program, activation map[string]any) {
	value, details, err := program.ContextEval(context.Background(), activation)
	if details != nil {
		a.Cost = details.ActualCost()
	}
	if err == nil {
		a.Value, err = wireFromKubernetes(value)
	}
	if err != nil {
		a.Error = &WireError{Kind: "eval", Message: err.Error()}
	}
}

// repeat evaluates again and keeps what came out different: Go walks over maps in random order.
func (a *Answer) repeat(program cel.Program, activation map[string]any, times int) {
	seen := map[string]bool{a.outcome(): true}
	for range times {
		again := &Answer{}
		again.evaluate(program, activation)
		if outcome := again.outcome(); !seen[outcome] {
			seen[outcome] = true
			a.Others = append(a.Others, again)
		}
	}
}

func (a *Answer) outcome() string {
	cost := uint64(0)
	if a.Cost != nil {
		cost = *a.Cost
	}
	if a.Error != nil {
		return fmt.Sprint("error", cost)
	}
	text, err := json.Marshal(a.Value)
	return fmt.Sprint(string(text), err, cost)
}

func typeOf(output *cel.Type) *WireType {
	encoded, err := types.TypeToProto(output)
	if err != nil {
		return nil
	}
	result := wireTypeFromProto(encoded)
	return &result
}

// prepared is an environment with what is needed to bind its variables.
type prepared struct {
	env    *cel.Env
	schema *spec.Schema
	object *apiservercel.DeclType
}

var (
	base         = sync.OnceValue(func() *environment.EnvSet { return environment.MustBaseEnvSet(version.MajorMinor(1, 36)) })
	environments = map[string]*prepared{}
)

func environmentOf(request *Request) (*prepared, error) {
	if request.Bare() {
		return bareEnvironment(request)
	}
	key := fmt.Sprint(request.Mutation, request.DisableMacros, string(request.Schema))
	if known, ok := environments[key]; ok {
		return known, nil
	}
	made, err := policyEnvironment(request)
	if err == nil {
		environments[key] = made
	}
	return made, err
}

// policyEnvironment has the variables of an admission policy, declared as the API server declares them.
func policyEnvironment(request *Request) (*prepared, error) {
	result := &prepared{}
	requestType, namespaceType := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	declared := []*apiservercel.DeclType{namespaceType, requestType}
	objectType := cel.DynType
	if len(request.Schema) > 0 {
		result.schema = &spec.Schema{}
		if err := json.Unmarshal(request.Schema, result.schema); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
		result.object = openapi.SchemaDeclType(result.schema, true)
		if result.object == nil {
			return nil, fmt.Errorf("schema: it has no CEL type")
		}
		result.object = result.object.MaybeAssignTypeName("schema.Object")
		declared = append(declared, result.object)
		objectType = result.object.CelType()
	}
	options := environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable(plugincel.ObjectVarName, objectType),
			cel.Variable(plugincel.OldObjectVarName, objectType),
			cel.Variable(plugincel.NamespaceVarName, namespaceType.CelType()),
			cel.Variable(plugincel.RequestVarName, requestType.CelType()),
			cel.Variable(plugincel.ParamsVarName, cel.DynType),
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType),
		},
		DeclTypes: declared,
	}
	set, err := base().Extend(options, environment.StrictCostOpt)
	if err != nil {
		return nil, err
	}
	if request.Mutation {
		set, err = set.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: []cel.EnvOption{
				common.ResolverEnvOption(&mutation.DynamicTypeResolver{}),
				environment.UnversionedLib(library.JSONPatch),
			},
		})
		if err != nil {
			return nil, err
		}
	}
	result.env = set.StoredExpressionsEnv()
	return result, nil
}

// bareEnvironment has the request's own declarations only.
func bareEnvironment(request *Request) (*prepared, error) {
	options := []cel.EnvOption{cel.Container(request.Container)}
	if request.DisableMacros {
		options = append(options, cel.ClearMacros())
	}
	for index := range request.Declarations {
		declared, err := cel.ProtoAsDeclaration(request.Declarations[index].proto())
		if err != nil {
			return nil, err
		}
		options = append(options, declared)
	}
	env, err := base().StoredExpressionsEnv().Extend(options...)
	return &prepared{env: env}, err
}

func activationOf(request *Request, prepared *prepared) (map[string]any, error) {
	variables := map[string]any{}
	if request.Bare() {
		for name, bound := range request.Bindings {
			encoded, err := bound.proto()
			if err != nil {
				return nil, err
			}
			value, err := cel.ProtoAsValue(prepared.env.CELTypeAdapter(), encoded)
			if err != nil {
				return nil, err
			}
			variables[name] = value
		}
		return variables, nil
	}
	for name, text := range map[string][]byte{
		plugincel.ObjectVarName:    request.Object,
		plugincel.OldObjectVarName: request.OldObject,
		plugincel.ParamsVarName:    request.Params,
		plugincel.RequestVarName:   request.Request,
		plugincel.NamespaceVarName: request.NamespaceObject,
	} {
		// A variable that a policy has and the request has not is null, as in the API server.
		var value any
		if len(text) > 0 {
			if err := json.Unmarshal(text, &value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if prepared.schema != nil && value != nil && (name == plugincel.ObjectVarName || name == plugincel.OldObjectVarName) {
			variables[name] = openapi.UnstructuredToVal(value, prepared.schema)
		} else {
			variables[name] = value
		}
	}
	authorizer, resource := request.Authorizer.values()
	variables[plugincel.AuthorizerVarName] = authorizer
	variables[plugincel.RequestResourceAuthorizerVarName] = resource
	return variables, nil
}
