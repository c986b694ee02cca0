package main

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

// wireFromKubernetes encodes a result of Kubernetes' environment, its opaque types among them.
func wireFromKubernetes(value ref.Val) (WireValue, error) {
	switch value := value.(type) {
	case types.Null:
		return WireValue{"null": nil}, nil
	case types.Bool:
		return WireValue{"bool": bool(value)}, nil
	case types.Int:
		return wireInt(int64(value)), nil
	case types.Uint:
		return wireUint(uint64(value)), nil
	case types.Double:
		return wireDouble(float64(value)), nil
	case types.String:
		return wireString(string(value)), nil
	case types.Bytes:
		return wireBytes(value), nil
	case types.Timestamp:
		return wireTimestamp(value.Time), nil
	case types.Duration:
		return wireDuration(value.Duration), nil
	case *types.Err:
		return nil, value
	case *types.Unknown:
		return WireValue{"unknown": value.String()}, nil
	case *types.Optional:
		if !value.HasValue() {
			return WireValue{"optional": nil}, nil
		}
		inner, err := wireFromKubernetes(value.GetValue())
		return WireValue{"optional": inner}, err
	case apiservercel.Quantity:
		return wireOpaque(value.Type().TypeName(), value.Quantity.String()), nil
	case *apiservercel.Quantity:
		return wireFromKubernetes(*value)
	case apiservercel.IP:
		return wireOpaque(value.Type().TypeName(), value.Addr.String()), nil
	case apiservercel.CIDR:
		return wireOpaque(value.Type().TypeName(), value.Prefix.String()), nil
	case apiservercel.URL:
		return wireOpaque(value.Type().TypeName(), value.URL.String()), nil
	case apiservercel.Semver:
		return wireOpaque(value.Type().TypeName(), value.Version.String()), nil
	case apiservercel.Format:
		return wireOpaque(value.Type().TypeName(), value.Name), nil
	case *mutation.JSONPatchVal:
		fields := [][2]any{{"op", wireString(value.Op)}, {"path", wireString(value.Path)}, {"from", wireString(value.From)}}
		if value.Val != nil {
			inner, err := wireFromKubernetes(value.Val)
			if err != nil {
				return nil, err
			}
			fields = append(fields, [2]any{"value", inner})
		}
		return wireStruct(value.Type().TypeName(), fields), nil
	case *dynamic.ObjectVal:
		return wireFromObject(value)
	case traits.Lister:
		return wireFromList(value)
	case traits.Mapper:
		return wireFromMap(value)
	case ref.Type:
		return WireValue{"type": value.TypeName()}, nil
	default:
		return wireOpaque(value.Type().TypeName(), fmt.Sprintf("%T", value)), nil
	}
}

func wireStruct(typeName string, fields [][2]any) WireValue {
	return WireValue{"struct": map[string]any{"type": typeName, "fields": fields}}
}

func wireFromList(list traits.Lister) (WireValue, error) {
	elements := []WireValue{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		element, err := wireFromKubernetes(it.Next())
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return WireValue{"list": elements}, nil
}

func wireFromMap(mapper traits.Mapper) (WireValue, error) {
	entries := [][2]WireValue{}
	for it := mapper.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		encodedKey, err := wireFromKubernetes(key)
		if err != nil {
			return nil, err
		}
		encoded, err := wireFromKubernetes(mapper.Get(key))
		if err != nil {
			return nil, err
		}
		entries = append(entries, [2]WireValue{encodedKey, encoded})
	}
	return WireValue{"map": entries}, nil
}

// wireFromObject encodes an Object{}. Its fields can only be had as native Go values, as the API server itself gets them.
func wireFromObject(object *dynamic.ObjectVal) (WireValue, error) {
	native := object.Value()
	fields, ok := native.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v", native)
	}
	encoded, err := wireFromMap(types.DefaultTypeAdapter.NativeToValue(fields).(traits.Mapper))
	if err != nil {
		return nil, err
	}
	return WireValue{"struct": map[string]any{"type": object.Type().TypeName(), "native": encoded}}, nil
}
