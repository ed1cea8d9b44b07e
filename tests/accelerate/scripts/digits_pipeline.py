"""A pipeline with a grid search over the number of components, tables in and out."""

import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True, as_frame=True)
X = pd.concat([X, X.add_prefix("again_")], axis=1)
pipe = Pipeline(
    [("scale", StandardScaler()), ("pca", PCA()), ("logistic", LogisticRegression(max_iter=500))]
)
search = GridSearchCV(pipe, {"pca__n_components": [10, 30]}, cv=2).fit(X, y)
print("best score:", search.best_score_)
print("components:", search.best_params_["pca__n_components"])
named = PCA(3).set_output(transform="pandas").fit(X)
table = named.transform(X)
print("columns:", *[int(name[3:]) for name in table.columns])
print("deviations:", *table.std())
