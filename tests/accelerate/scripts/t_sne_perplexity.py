"""t-SNE of digits with several perplexities: neighbors keep their class."""

from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import KNeighborsClassifier

X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
for perplexity in (5, 30, 50):
    tsne = TSNE(n_components=2, init="pca", perplexity=perplexity, random_state=0, max_iter=500)
    Y = tsne.fit_transform(X)
    accuracy = KNeighborsClassifier(5).fit(Y[::2], y[::2]).score(Y[1::2], y[1::2])
    print(f"perplexity {perplexity} accuracy:", accuracy)
    print(f"perplexity {perplexity} trustworthiness:", trustworthiness(X, Y))
